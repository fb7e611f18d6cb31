import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { decodeId, encodeId, logPath, projectFolder } from "../../../src/store/jsonl/layout.ts";
import { title } from "../../contract/support.ts";
import { oddString } from "../../fixtures/arbitraries.ts";
import { ENCODINGS, LOG_NAMES, Place } from "./place.ts";

/** Ids of what escapes are made of, so that two of them would soon be encoded alike by a rule with a hole. */
const trickyId = fc
  .array(fc.constantFrom("~", ".", "..", "0", "2", "E", "e", "~002E", "/", "\ud800", "\udc00", "A", "a"), {
    minLength: 1,
    maxLength: 5,
  })
  .map((parts) => parts.join(""));
const anyId = fc.oneof(trickyId, oddString(), fc.string({ unit: "binary" })).filter((id) => id !== "");

/** The rule of the format page, unit by unit. */
function encodedByRule(id: string): string {
  if (id === "." || id === "..") return "~002E".repeat(id.length);
  return Array.from({ length: id.length }, (_, k) => {
    const unit = id.charAt(k);
    if (/^[A-Za-z0-9._-]$/.test(unit)) return unit;
    return `~${id.charCodeAt(k).toString(16).toUpperCase().padStart(4, "0")}`;
  }).join("");
}

describe("the folder of an id", () => {
  test.each([
    ["plain-Id_1.0", "plain-Id_1.0"],
    [".", "~002E"],
    ["..", "~002E~002E"],
    ["...", "..."],
    [".a", ".a"],
    ["~", "~007E"],
    ["~002E", "~007E002E"],
    ["a/b\\c:d", "a~002Fb~005Cc~003Ad"],
    ["\ud800", "~D800"],
    ["\u{1f980}", "~D83E~DD80"],
    ["é e\u0301", "~00E9~0020e~0301"],
    ["\0\n", "~0000~000A"],
  ])("of %j is %s", (id, folder) => {
    expect(encodeId(id)).toBe(folder);
    expect(decodeId(folder)).toBe(id);
  });

  test("follows the rule, and is decoded to the id, for any string", () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const folder = encodeId(id);
        expect(folder).toBe(encodedByRule(id));
        expect(folder).toMatch(/^[A-Za-z0-9._~-]+$/);
        expect([".", ".."]).not.toContain(folder);
        expect(decodeId(folder)).toBe(id);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is another one for every other id", () => {
    fc.assert(
      fc.property(anyId, anyId, (a, b) => {
        expect(encodeId(a) === encodeId(b)).toBe(a === b);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    "",
    ".",
    "..",
    "~002e",
    "~002E.",
    "~",
    "~00",
    "~0041",
    "~007e",
    "a b",
    "é",
    "~002F~",
    "a/b",
    "~002E~002E~002E",
  ])("is never %j", (name) => {
    expect(decodeId(name)).toBeUndefined();
  });

  test("that no id encodes to is decoded to nothing, for any string", () => {
    fc.assert(
      fc.property(fc.oneof(anyId, anyId.map(encodeId)), (name) => {
        const id = decodeId(name);
        if (id !== undefined) expect(encodeId(id)).toBe(name);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the project of a working directory", () => {
  test.each([
    [undefined, "_no-cwd"],
    ["", "--root--"],
    ["/", "--root--"],
    ["//:\\/", "--root--"],
    ["/home/x", "--home-x--"],
    ["/home//x/", "--home-x---"],
    ["C:\\work", "--C-work--"],
    ["C:/work", "--C-work--"],
    ["\\\\host\\share", "--host-share--"],
    ["---a", "--a--"],
    ["/-/-a", "--a--"],
    ["a b", "--a~0020b--"],
    ["~/x", "--~007E-x--"],
    ["/é/\ud800", "--~00E9-~D800--"],
    [".", "--.--"],
    ["_no-cwd", "--_no-cwd--"],
  ])("%j is %s", (cwd, folder) => {
    expect(projectFolder(cwd)).toBe(folder);
  });

  // The cut may go through an escape: nothing is decoded from a project's name.
  test.each([
    [251, "", ""],
    [252, "", ""],
    [249, " b", "~0"],
    [246, "éb", "~00E9"],
  ])("keeps 251 characters of %d and %j", (count, rest, kept) => {
    const folder = projectFolder(`/${"a".repeat(count)}${rest}`);
    expect(folder).toBe(`--${"a".repeat(Math.min(count, 251))}${kept}--`);
  });

  test("is one safe file name of at most 255 bytes, for any string", () => {
    fc.assert(
      fc.property(oddString(40), (cwd) => {
        const folder = projectFolder(cwd);
        expect(folder).toMatch(/^--[A-Za-z0-9._~-]+--$/);
        expect(folder.length).toBeLessThanOrEqual(255);
      }),
    );
  });

  test.each(ENCODINGS)("holds the session's folder with the log, encoding %s", (encoding) => {
    const path = logPath("/r", { id: "a b", cwd: "/home/x" }, encoding);
    expect(path).toBe(join("/r", "--home-x--", "a~0020b", LOG_NAMES[encoding]));
  });
});

describe("what is written", () => {
  const modes = ({ folder }: Place) =>
    new Map(
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => {
        const stat = statSync(join(folder, name));
        return [name, `${stat.isDirectory() ? "folder" : "file"} ${(stat.mode & 0o777).toString(8)}`];
      }),
    );

  for (const mask of [0o000, 0o022, 0o077]) {
    test.each(ENCODINGS)(
      `is private to its user under umask ${mask.toString(8)}, also a new root and a quarantine, encoding %s`,
      async (encoding) => {
        using place = new Place(undefined, "new/root");
        const before = process.umask(mask);
        try {
          {
            await using store = await place.open(encoding);
            const session = await store.create({ version: 0, id: "s", createdAt: 1, cwd: "/p" });
            await session.log.appendAll([title(0)]);
            await session.log.append(title(1));
          }
          const path = place.log("s", encoding);
          truncateSync(path, statSync(path).size - 1);
          await using store = await place.open();
          expect((await store.load("s")).log.length).toBeGreaterThan(0);
          const names = readdirSync(join(place.root, "--p--", "s"));
          expect(names.toSorted()).toEqual([LOG_NAMES[encoding], expect.stringContaining(".torn-")]);
          const odd = [...modes(place)].filter(([, mode]) => !["folder 700", "file 600"].includes(mode));
          expect(odd).toEqual([]);
        } finally {
          process.umask(before);
        }
      },
    );
  }

  test("begins with a header line of the format, which says what kind of line it is", async () => {
    using place = new Place();
    await using store = await place.open("none");
    const header = { version: 0, id: "s", createdAt: 1, cwd: "/p", agentPreset: "x" } as const;
    const session = await store.create(header);
    await session.log.append(title(0));
    const [line = ""] = readFileSync(place.log("s", "none"), "utf8").split("\n");
    expect(line).toBe(
      '{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/p","delegationDepth":0,"agentPreset":"x"}',
    );
  });
});

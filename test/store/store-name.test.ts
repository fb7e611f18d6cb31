import { afterAll, describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../../src/store/errors.ts";
import { formatStoreName, isSameStore, parseStoreName, type StoreName } from "../../src/store/store-name.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-names-"));
const file = join(folder, "a-file");
const logs = join(folder, "logs.db");
writeFileSync(file, "");
mkdirSync(logs);
afterAll(() => rmSync(folder, { recursive: true }));

function codeOf(task: () => unknown): string {
  try {
    task();
    return "none";
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error);
  }
}

describe("the name of a store", () => {
  const NAMES: ReadonlyArray<readonly [string, StoreName]> = [
    ["sqlite:agent.db", { kind: "sqlite", path: "agent.db" }],
    ["sqlite:/data/sessions", { kind: "sqlite", path: "/data/sessions" }],
    ["jsonl:sessions", { kind: "jsonl", path: "sessions" }],
    ["jsonl:odd.db", { kind: "jsonl", path: "odd.db" }],
    ["jsonl:sqlite:x", { kind: "jsonl", path: "sqlite:x" }],
    ["agent.db", { kind: "sqlite", path: "agent.db" }],
    ["data/agent.sqlite", { kind: "sqlite", path: "data/agent.sqlite" }],
    ["new/folder", { kind: "jsonl", path: "new/folder" }],
    ["new.db/", { kind: "jsonl", path: "new.db/" }],
    ["./data:2024", { kind: "jsonl", path: "./data:2024" }],
    ["C:\\data\\agent.db", { kind: "sqlite", path: "C:\\data\\agent.db" }],
  ];
  test.each(NAMES)("%s is read without a look at the disk, where nothing lies there", (name, expected) => {
    expect(parseStoreName(name)).toEqual(expected);
  });

  test("that is a path alone means what lies there: a file is SQLite, a folder JSONL", () => {
    expect(parseStoreName(file)).toEqual({ kind: "sqlite", path: file });
    expect(parseStoreName(logs)).toEqual({ kind: "jsonl", path: logs });
    expect(parseStoreName(`sqlite:${logs}`)).toEqual({ kind: "sqlite", path: logs });
  });

  test("that is a home of dsh means the logs in it; a root with logs of its own stays what it is", () => {
    const log = (...place: string[]) => {
      const path = join(folder, ...place, "s");
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "session.jsonl"), "");
    };
    const pathOf = (name: string) => parseStoreName(join(folder, name)).path;
    log("home", "sessions", "--srv-x--");
    mkdirSync(join(folder, "home", "skills"));
    expect(pathOf("home")).toBe(join(folder, "home", "sessions"));
    // Other programs leave their own logs in a home.
    mkdirSync(join(folder, "home", "logs"));
    writeFileSync(join(folder, "home", "logs", "debug.jsonl"), "{}\n");
    expect(pathOf("home")).toBe(join(folder, "home", "sessions"));
    expect(parseStoreName(`jsonl:${folder}/home`)).toEqual({
      kind: "jsonl",
      path: `${folder}/home/sessions`,
    });
    expect(isSameStore(parseStoreName(`${folder}/home`), parseStoreName(`${folder}/home/sessions`))).toBe(
      true,
    );
    // A root of which a project or a session is called so, one with logs beside it, and one that a Host used.
    log("project", "sessions");
    log("both", "sessions", "--srv-x--");
    log("both", "--srv-y--");
    log("used", "sessions", "--srv-x--");
    writeFileSync(join(folder, "used", ".holdfast.lock"), "");
    mkdirSync(join(folder, "empty", "sessions"), { recursive: true });
    for (const name of ["project", "both", "used", "empty", "home/sessions"])
      expect(pathOf(name)).toBe(join(folder, name));
  });

  test.each(["", "sqlite:", "jsonl:", "a\0b", "postgres:agent", "http://127.0.0.1:8765", "memory:"])(
    "is not %j",
    (name) => {
      expect(codeOf(() => parseStoreName(name))).toBe("usage");
    },
  );

  test.skipIf(process.platform === "win32")("is not that of a device", () => {
    expect(codeOf(() => parseStoreName("/dev/null"))).toBe("storage-failed");
    expect(codeOf(() => parseStoreName(join(file, "below")))).toBe("storage-failed");
  });

  test("is written with its kind, and reads back as the same", () => {
    for (const name of [
      { kind: "sqlite", path: "x" },
      { kind: "jsonl", path: "y.db" },
    ] as const) {
      expect(parseStoreName(formatStoreName(name))).toEqual(name);
    }
    expect(formatStoreName({ kind: "jsonl", path: "y.db" })).toBe("jsonl:y.db");
  });
});

describe.skipIf(process.platform === "win32")("two names mean the same store", () => {
  const sqlite = (path: string): StoreName => ({ kind: "sqlite", path });

  test("where they lead to the same place, whatever is there", () => {
    symlinkSync("a-file", join(folder, "link"));
    linkSync(file, join(folder, "second"));
    for (const name of ["a-file", "./a-file", "link", "second", "logs.db/../a-file"]) {
      expect(isSameStore(sqlite(file), sqlite(`${folder}/${name}`)), name).toBe(true);
    }
    expect(isSameStore(sqlite(`${folder}/new`), { kind: "jsonl", path: `${folder}/./new` })).toBe(true);
  });

  test("and else not", () => {
    expect(isSameStore(sqlite(file), sqlite(logs))).toBe(false);
    expect(isSameStore(sqlite(file), sqlite(`${folder}/new`))).toBe(false);
  });
});

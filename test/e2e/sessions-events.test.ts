import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import type { SessionRecord } from "../../src/session/records.ts";
import { title } from "../contract/support.ts";
import { makeStore } from "../fixtures/damaged-store.ts";
import { executablePath, type Finished, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { plant, recordsOfDrafts, recordsOfTexts, textsOf, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function show(...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "show", ...args]);
}

/** A store in a new folder with the session `s` that holds these records. */
async function holding(
  records: readonly SessionRecord[],
  name = "a.db",
): Promise<{ folder: TempFolder; store: string }> {
  const folder = await TempFolder.create();
  const store = folder.at(name);
  await withStore(store, (opened) => plant(opened, "s", records));
  return { folder, store };
}

describe("sessions show --events", () => {
  const ODD = [
    '{"seq":0,"type":"session/title","data":{"n":12345678901234567890,"é":"\\u00e9\\ud800"},"time":7,"x":1.50}',
    '{ "type" : "session/title", "seq" : 1, "time" : 7, "data" : "\\/\u2028\u0085" }',
  ];

  test("gives each event in the bytes that are stored, and their digest is that of --json", async () => {
    for (const name of ["a.db", "logs"]) {
      const { folder, store } = await holding(recordsOfTexts(ODD), name);
      await using _ = folder;
      const { stdout, code, stderr } = await show("s", store, "--events");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toBe(`${ODD.join("\n")}\n`);
      const { digest } = z
        .object({ digest: z.string() })
        .parse(JSON.parse((await show("s", store, "--json")).stdout));
      expect(digest).toBe(sha256(ODD.join("\n")));
    }
  });

  test("gives one line for each event of a packed run", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    const lines = (await show("default", folder.at("a.db"), "--events")).stdout.split("\n").slice(0, -1);
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("gives the same bytes through a pipe as into a file, of five megabytes as well", async () => {
    const big = recordsOfDrafts(
      Array.from({ length: 400 }, (_, n) => ({
        type: "session/title",
        data: { n, text: "žluťoučký ".repeat(1_200) },
      })),
    );
    const { folder, store } = await holding(big);
    await using _ = folder;
    const expected = sha256(`${textsOf(big).join("\n")}\n`);
    const script =
      '"$0" sessions show s "$1" --events > "$2" && "$0" sessions show s "$1" --events | cat > "$3"';
    const [file, piped] = [folder.at("file"), folder.at("piped")];
    const { code, stderr } = await runCommand(["sh", "-c", script, executablePath(), store, file, piped]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(Bun.file(file).size).toBeGreaterThan(5_000_000);
    expect(sha256(await Bun.file(file).bytes())).toBe(expected);
    expect(sha256(await Bun.file(piped).bytes())).toBe(expected);
  });

  test("ends clean when its reader has seen enough", async () => {
    const big = recordsOfDrafts(
      Array.from({ length: 3_000 }, (_, n) => ({
        type: "session/title",
        data: { n, text: "x".repeat(4_000) },
      })),
    );
    const { folder, store } = await holding(big);
    await using _ = folder;
    const script = '{ "$0" sessions show s "$1" --events; echo "code $?" >&2; } | head -c 20';
    const { stdout, stderr } = await runCommand(["sh", "-c", script, executablePath(), store]);
    expect({ stdout, stderr }).toEqual({ stdout: '{"type":"session/tit', stderr: "code 0\n" });
  });

  test.skipIf(process.platform !== "linux")("fails where it cannot be written", async () => {
    const { folder, store } = await holding(recordsOfDrafts([title(0)]));
    await using _ = folder;
    const script = '"$0" sessions show s "$1" --events > /dev/full';
    const { code, stderr } = await runCommand(["sh", "-c", script, executablePath(), store]);
    expect(code).toBe(1);
    expect(stderr).toContain("the output cannot be written (ENOSPC)");
  });

  test("goes with no other form", async () => {
    expect(await show("s", "a.db", "--events", "--json")).toMatchObject({ code: 2, stdout: "" });
  });
});

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { buildLog, headerText, titleText } from "../store/jsonl/log-bytes.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const IDS = ["a", "b", "c"];
/** A command whose output nobody ever takes. Bash knows when its other end is closed. */
const UNREAD = 'exec 3> >(true); wait $!; "$0" "$@" >&3';

function put(folder: TempFolder, id: string, bytes: Buffer): void {
  const path = folder.at("logs", "--p--", id, "session.jsonl");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

describe("a command that changes a store does all of its work where nobody takes its output:", () => {
  const run = (folder: TempFolder, ...args: readonly string[]) =>
    runCommand(["bash", "-c", UNREAD, executablePath(), "sessions", ...args], { cwd: folder.path });
  const stateOf = async (folder: TempFolder, store: string) =>
    (await runHoldfast(["sessions", "list", store, "--json"], { cwd: folder.path })).stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line).id)
      .toSorted();

  test("a repair", async () => {
    await using folder = await TempFolder.create();
    for (const id of IDS)
      put(folder, id, buildLog(id, "none", [[titleText(0), titleText(1)]]).bytes.subarray(0, -2));
    expect(await run(folder, "repair", "--session-dir", "logs")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(
      await runHoldfast(["sessions", "verify", "--session-dir", "logs"], { cwd: folder.path }),
    ).toMatchObject({
      code: 0,
    });
  });

  test("a repair that cannot help everything, which exits as if it had been read", async () => {
    await using folder = await TempFolder.create();
    const later = Buffer.from(`${headerText("later", { version: 4 })}\n`);
    put(folder, "later", later);
    put(folder, "s", buildLog("s", "none", [[titleText(0), titleText(1)]]).bytes.subarray(0, -2));
    expect(await run(folder, "repair", "--session-dir", "logs")).toEqual({ code: 5, stdout: "", stderr: "" });
  });

  test.each([
    ["salvage", ["salvage"], IDS.map((id) => `${id}-salvaged`)],
    ["copy", ["copy", "--all"], IDS],
  ] as const)("a %s", async (_, words, made) => {
    await using folder = await TempFolder.create();
    for (const id of IDS)
      put(folder, id, buildLog(id, "none", [[titleText(0), titleText(1)]]).bytes.subarray(0, -2));
    const args = [...words, "--from", "logs", "--to", "new.db"];
    expect(await run(folder, ...args)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await stateOf(folder, "new.db")).toEqual([...made]);
  });
});

describe("what no reader can see", () => {
  test("stands in every line of JSON as an escape, which is the same JSON", async () => {
    await using folder = await TempFolder.create();
    const id = "a\u007f\u009b31m\u202eb\u200b\u{e0041}";
    const encoded = "a~007F~009B31m~202Eb~200B~DB40~DC41";
    const header = headerText(id, { agentPreset: "\u2066x" });
    put(folder, encoded, Buffer.from(`${header}\n${titleText(0, { title: "\u009d\u200f" })}\nx`));
    const [store, to] = ["--session-dir", "logs"];
    const cases: ReadonlyArray<readonly [readonly string[], number]> = [
      [["verify", store, to], 5],
      [["list", to], 0],
      [["show", id, to], 0],
      [["repair", "--dry-run", store, to], 0],
      [["copy", "--all", "--from", to, "--to", "copy.db"], 0],
      [["salvage", "--from", to, "--to", "new.db"], 0],
    ];
    for (const [args, code] of cases) {
      const finished = await runHoldfast(["sessions", ...args, "--json"], { cwd: folder.path });
      expect({ args, code: finished.code }).toEqual({ args, code });
      expect(finished.stdout).toMatch(/^[\n -~]+$/);
      const lines = finished.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.stringify(JSON.parse(line)));
      expect(lines.join()).toContain(JSON.stringify(id));
    }
    // Events are the stored bytes.
    const events = await runHoldfast(["sessions", "show", id, to, "--events"], { cwd: folder.path });
    expect(events.stdout).toBe(`${titleText(0, { title: "\u009d\u200f" })}\n`);
  });
});

test("a repair says that there may be more where it stops counting what no repair can help", async () => {
  await using folder = await TempFolder.create();
  const unknown = Array.from(
    { length: 1_001 },
    (_, seq) => `{"type":"x/y${seq}","seq":${seq},"time":0,"data":0}`,
  );
  put(folder, "s", buildLog("s", "none", [unknown]).bytes);
  const args = ["sessions", "repair", "--session-dir", "logs"];
  const { stdout } = await runHoldfast(args, { cwd: folder.path });
  expect(stdout).toEndWith("nothing to repair, 1000 or more findings that no repair can help\n");
  const json = await runHoldfast([...args, "--json"], { cwd: folder.path });
  expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toEqual({
    kind: "summary",
    steps: 0,
    done: 0,
    helpless: 1_000,
    moreHelpless: true,
  });
});

describe.skipIf(!existsSync("/dev/full"))("where nothing can be written, it is no success:", () => {
  test.each(["invoke --session-db a.db 'say x'", "invoke --json --session-db a.db 'say x'", "--help"])(
    "holdfast %s",
    async (words) => {
      await using folder = await TempFolder.create();
      const command = ["bash", "-c", `"$0" ${words} > /dev/full`, executablePath()];
      expect(await runCommand(command, { cwd: folder.path })).toEqual({
        code: 1,
        stdout: "",
        stderr: "holdfast: the output cannot be written (ENOSPC)\n",
      });
    },
  );
});

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dshSamples } from "../fixtures/dsh-samples.ts";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { linesOf, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/*
 * A folder as dsh has it in the home of a user: its sessions lie in a folder of it, beside what is none of Holdfast's.
 */

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const { root, absent } = dshSamples("zstd");
const PROJECT = "--srv-project-workspace--";
const LONG = "apps-web-approval-composer-session";
const SHORT = "apps-web-feedback-command-session";
/** The only one that is older than any clock of a machine says. */
const OLD = "examples-acp-agent-subagent-max-tokens-partial-session";
const OLD_PLACE = `--srv-project--/${OLD}`;

async function makeHome(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  for (const place of [PROJECT, OLD_PLACE])
    cpSync(`${root}/${place}`, folder.at("home/sessions", place), { recursive: true });
  await Bun.write(folder.at("home/skills/milk.md"), "Buy milk.");
  await Bun.write(folder.at("home/config.json"), "{}");
  return folder;
}

/** What lies in the home, without what dsh does not look at: locks and indexes. */
async function layout(folder: TempFolder): Promise<string[]> {
  const all = await folderState(folder.at("home"));
  return all.filter((line) => !/\.holdfast[.-]/.test(line));
}

const withoutHashes = (lines: readonly string[]) => lines.map((line) => line.replace(/ \w{64}$/, ""));

describe.skipIf(absent)("a home of dsh (needs its sample sessions)", () => {
  let ids: readonly string[] = [];
  beforeAll(() => {
    ids = [...readdirSync(`${root}/${PROJECT}`), OLD].sort();
  });

  test("is read by every command that reads, under whatever name of a store, and stays as it is", async () => {
    await using folder = await makeHome();
    const before = await layout(folder);
    const commands: ReadonlyArray<readonly [readonly string[], string]> = [
      [["list", "home"], LONG],
      [["show", LONG, "jsonl:home"], "notes.txt"],
      [["tail", LONG, "--session-dir", "home", "-n", "1"], "Turn 1"],
      [["search", "notes.txt", "--session-dir", "home"], `${LONG}  seq `],
      [["stats", "--all", "--session-dir", "home"], "Sessions    6\n"],
      [["export", "--session-dir", "home", SHORT], SHORT],
      [["compact", "--all", "--dry-run", "--session-dir", "home"], LONG],
      [["verify", "--session-dir", "home"], "6 sessions, 6 ok"],
      [["copy", "--all", "--from", "home", "--to", "copy.db"], "6 copied, 0 already there, 0 failed"],
      [["backup", "--session-dir", "home", "--to", "backup"], "6 sessions"],
    ];
    for (const [args, told] of commands) {
      const { code, stdout } = await sessions(folder, ...args);
      expect({ args, code }).toEqual({ args, code: 0 });
      expect(stdout).toContain(told);
    }
    expect(await layout(folder)).toEqual(before);
    const saved = await folderState(folder.at("backup"));
    for (const id of ids) expect(saved.join("\n")).toContain(`/${id}/session.jsonl.zstd `);
  });

  test("is changed where dsh looks for its sessions, and nowhere else", async () => {
    await using folder = await makeHome();
    const before = withoutHashes(await layout(folder));
    expect((await sessions(folder, "copy", "--all", "--from", "home", "--to", "copy.db")).code).toBe(0);
    const gone = await sessions(folder, "delete", "--session-dir", "home", SHORT, "--yes");
    expect(gone.stdout).toContain("\n1 deleted from jsonl:home/sessions\n");
    const old = linesOf(
      await sessions(folder, "prune", "home", "--older-than", "1000w", "--yes", "--json"),
    ).find(({ kind }) => kind === "deleted");
    expect(old?.["path"]).toMatch(/\/home\/sessions\.trash\/[\w-]+\/--srv-project--\/[\w-]+$/);
    expect((await sessions(folder, "compact", "--all", "home")).code).toBe(0);
    const inHome = (line: string) => !line.startsWith("sessions.trash");
    const left = before.filter(
      (line) => !line.includes(SHORT) && !line.startsWith("sessions/--srv-project--/"),
    );
    // The folder of a project goes with its last session.
    expect(left).not.toContain(`sessions/${OLD_PLACE}/`);
    expect(withoutHashes((await layout(folder)).filter(inHome))).toEqual(left);
    const [, restore = ""] = /^to bring back what was deleted: (.*)$/m.exec(gone.stdout) ?? [];
    expect(await runCommand(["sh", "-c", restore], { cwd: "/" })).toMatchObject({ code: 0 });
    // Digests are compared: what is compacted, or was moved away and back, is the same session.
    const again = await sessions(folder, "copy", "--all", "--from", "home", "--to", "copy.db");
    expect(again.stdout).toContain("0 copied, 5 already there, 0 failed\n");
  });

  test("is gone on with by a Turn; a folder that only looks like one is a root", async () => {
    await using folder = await makeHome();
    const invoke = (home: string, id: string) =>
      runHoldfast(["invoke", "--session-dir", home, "--session-id", id, "Hello?"], { cwd: folder.path });
    const log = folder.at("home/sessions", PROJECT, SHORT, "session.jsonl.zstd");
    const { size } = Bun.file(log);
    expect((await invoke("home", SHORT)).code).toBe(0);
    expect(Bun.file(log).size).toBeGreaterThan(size);
    expect(readdirSync(folder.at("home")).sort()).toEqual(["config.json", "sessions", "skills"]);
    await Bun.write(folder.at("other/sessions/notes.txt"), "Buy milk.");
    expect((await invoke("other", "new")).code).toBe(0);
    expect(readdirSync(folder.at("other/sessions"))).toEqual(["notes.txt"]);
    expect(existsSync(folder.at("other/.holdfast.lock"))).toBe(true);
    const config = await runCommand([executablePath(), "config", "--session-dir", "home"], {
      cwd: folder.path,
    });
    expect(config.stdout).toMatch(/^sessionDir +home\/sessions +--session-dir$/m);
  });
});

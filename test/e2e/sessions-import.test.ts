import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { z } from "zod";
import { measure } from "../../src/store/copy.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { BATCHES } from "../store/jsonl/damage-kinds.ts";
import { buildLog } from "../store/jsonl/log-bytes.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function sessions(folder: TempFolder, ...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", ...args], { cwd: folder.path });
}

const reportSchema = z.looseObject({
  kind: z.enum(["session", "file", "summary"]),
  state: z.string().optional(),
  id: z.string().optional(),
});

function reports({ stdout }: Finished): z.infer<typeof reportSchema>[] {
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => reportSchema.parse(JSON.parse(line)));
}

/** The digests of both sessions in a store. */
function digests(store: string): Promise<string[]> {
  return withStore(store, (opened) =>
    Promise.all(["one", "two"].map(async (id) => (await measure(await opened.stream(id))).digest)),
  );
}

/** Two sessions in a database `a.db`: one with a Turn, one as another program wrote it, of an unknown type too. */
async function withTwo(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await withStore(`sqlite:${folder.at("a.db")}`, async (store) => {
    await plant(store, "one", recordsOfDrafts([turnStart(1), userMessage("Grüße 🥛"), turnEnd(1)]));
    const texts = [
      '{ "type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1, "more": "\\u0041"} }',
      '{"type":"other/thing","seq":1,"time":2,"data":[]}',
    ];
    await plant(store, "two", recordsOfTexts(texts), { unknown: true });
  });
  return folder;
}

describe("sessions import", () => {
  test("of what export wrote gives equal digests, and does nothing when it is done again", async () => {
    await using folder = await withTwo();
    await sessions(folder, "export", "a.db", "--all", "--format", "jsonl", "-o", "all.jsonl");
    await sessions(folder, "export", "a.db", "one", "-o", "one.jsonl");
    const expected = await digests(folder.at("a.db"));
    const first = await sessions(folder, "import", "all.jsonl", "one.jsonl", "--to", "jsonl:logs");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(
      /^imported one: 3 events, sha256 \w{12}…\nimported two: 2 events, sha256 \w{12}…\nalready there one: 3 events, sha256 \w{12}…\n3 read, 2 imported, 1 already there, 0 failed\n$/,
    );
    expect(await digests(folder.at("logs"))).toEqual(expected);
    const before = await folderState(folder.at("logs"));
    // A root of logs, into a third store and into the one that has all of it.
    expect((await sessions(folder, "import", "logs", "--to", "c.db")).code).toBe(0);
    expect(await digests(folder.at("c.db"))).toEqual(expected);
    const again = reports(await sessions(folder, "import", "all.jsonl", "logs", "--to", "c.db", "--json"));
    expect(again.slice(0, -1).map(({ kind, state }) => [kind, state])).toEqual(
      Array.from({ length: 4 }, () => ["session", "there"]),
    );
    expect(again.at(-1)).toEqual({
      kind: "summary",
      read: 4,
      imported: 0,
      there: 4,
      failed: 0,
      salvaged: 0,
      empty: 0,
    });
    expect(await folderState(folder.at("logs"))).toEqual(before);
  });

  test("says of damage where it is, imports the others, and salvages it only when asked", async () => {
    await using folder = await withTwo();
    const { bytes, offsets } = buildLog("s", "zstd", BATCHES);
    const cut = Buffer.concat([bytes.subarray(0, offsets[1]), bytes.subarray(offsets[2])]);
    await Bun.write(folder.at("broken.jsonl.zstd"), cut);
    await sessions(folder, "export", "a.db", "--all", "--format", "jsonl", "-o", "all.jsonl");
    const lines = (await Bun.file(folder.at("all.jsonl")).text()).split("\n");
    await Bun.write(folder.at("all.jsonl"), lines.with(2, "{oops").join("\n"));

    const refused = await sessions(folder, "import", "broken.jsonl.zstd", "--to", "b.db");
    expect(refused).toMatchObject({ code: 5, stderr: "" });
    expect(refused.stdout).toMatch(/^failed s: .*broken\.jsonl\.zstd, session s, byte \d+/);
    expect(existsSync(folder.at("b.db"))).toBe(false);

    const args = ["import", "broken.jsonl.zstd", "all.jsonl", "gone", "--to", "b.db", "--json"];
    const partial = await sessions(folder, ...args);
    expect(partial.code).toBe(5);
    expect(reports(partial)).toMatchObject([
      { id: "s", state: "failed", code: "corrupt" },
      { id: "one", state: "failed", reason: expect.stringMatching(/all\.jsonl, .*byte \d+, row 3\b/) },
      { id: "two", state: "imported", events: 2 },
      { kind: "file", file: "gone", state: "failed", code: "not-found" },
      { kind: "summary", read: 3, imported: 1, there: 0, failed: 3 },
    ]);
    const salvaged = reports(await sessions(folder, ...args, "--salvage"));
    expect(salvaged).toMatchObject([
      { id: "s", state: "salvaged", newId: "s-salvaged", missing: 2 },
      { id: "one", state: "salvaged", newId: "one-salvaged" },
      { id: "two", state: "there" },
      { file: "gone", state: "failed" },
      { kind: "summary", read: 3, there: 1, failed: 1, salvaged: 2 },
    ]);
    const again = reports(await sessions(folder, ...args, "--salvage"));
    expect(again.map(({ state }) => state)).toEqual(["there", "there", "there", "failed", undefined]);
  });

  test("takes what is whole of a log that was never finished, and its rest later; no other session of its id", async () => {
    await using folder = await withTwo();
    await sessions(folder, "export", "a.db", "one", "-o", "one.jsonl");
    const whole = await Bun.file(folder.at("one.jsonl")).text();
    await Bun.write(folder.at("cut.jsonl"), whole.slice(0, -9));
    const cut = await sessions(folder, "import", "cut.jsonl", "--to", "b.db");
    expect(cut).toMatchObject({ code: 0, stderr: "" });
    expect(cut.stdout).toMatch(
      /^imported one: 2 events, sha256 \w{12}…; the end of the log is damaged or was never fully written from byte \d+ on,/,
    );
    // The store may have gone on meanwhile, and then has all of it.
    await Bun.write(folder.at("other.jsonl"), whole.replace("Grüße", "Hello"));
    const later = await sessions(folder, "import", "one.jsonl", "cut.jsonl", "other.jsonl", "--to", "b.db");
    expect(later.code).toBe(4);
    expect(later.stdout).toMatch(
      /^imported one: 3 events, 2 of them before, .*\nalready there one: 2 events.*\nfailed one: The session "one" of the target has other events \(file .*other\.jsonl, session one\)\n/,
    );
  });

  test("names what it reads where a file is something else, and refuses the store itself", async () => {
    await using folder = await withTwo();
    await Bun.write(folder.at("note.txt"), "Buy milk.\n");
    await Bun.write(folder.at("package.json"), '{\n  "name": "notes",\n  "version": "1.0.0"\n}\n');
    await Bun.write(folder.at("one.json"), '{"sessions":[\n]}\n');
    const files = ["note.txt", "package.json", "one.json", "a.db", "gone", "note.txt/gone"];
    const unknown = await sessions(folder, "import", ...files, "--to", "logs");
    expect(unknown.code).toBe(7);
    const isNone = (name: string) =>
      `failed ${name}: The file is no session log, nor an export of sessions\n` +
      "  hint: It can be a root of session logs, or JSON Lines that `sessions export` wrote, or a session log.\n";
    expect(unknown.stdout.replace(/ \(file .*\)/g, "")).toBe(
      isNone("note.txt") +
        isNone("package.json") +
        "failed one.json: It is not the format of an export that can be read back\n" +
        "  hint: Export the sessions with --format jsonl, and import that.\n" +
        "failed a.db: It is a SQLite database\n" +
        "  hint: Copy its sessions: `holdfast sessions copy --all --from a.db --to logs`.\n" +
        "failed gone: There is no such file or folder\n  hint: Check the path.\n" +
        "failed note.txt/gone: There is no such file or folder\n  hint: Check the path.\n" +
        "0 read, 0 imported, 0 already there, 6 failed\n",
    );
    expect(await sessions(folder, "import", "-", "--to", "logs")).toEqual({
      code: 2,
      stdout: "",
      stderr: "holdfast: Sessions are not read from stdin\n  hint: Name a file, or a folder.\n",
    });
    for (const own of ["a.db", "a.db-shm", "a.db.lock"]) {
      if (!existsSync(folder.at(own))) continue;
      expect(await sessions(folder, "import", own, "--to", "a.db")).toMatchObject({ code: 2, stdout: "" });
    }
    expect(existsSync(folder.at("logs"))).toBe(false);
  });
});

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { cp, rename, truncate } from "node:fs/promises";
import { z } from "zod";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, rewriteHeader, SEQ } from "../fixtures/damaged-store.ts";
import { turnStart } from "../fixtures/event-drafts.ts";
import { type CommandOptions, type Finished, runHoldfast } from "../fixtures/executable.ts";
import {
  headerText,
  plant,
  plantSmall,
  recordsOfDrafts,
  recordsOfTexts,
  withStore,
} from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { frameOf } from "../store/jsonl/log-bytes.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function list(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["sessions", "list", ...args], options);
}

const sessionSchema = z.looseObject({ id: z.string(), location: z.string().optional() });

/** What `--json` printed, line by line, without the page. */
function listed({ stdout }: Finished): z.infer<typeof sessionSchema>[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines
    .filter((line) => !line.startsWith('{"page"'))
    .map((line) => sessionSchema.parse(JSON.parse(line)));
}

describe("a session that is not sound is listed with its state and the reason:", () => {
  test("a header that was changed, and one of a newer version", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    damage(folder.at("a.db"), (database) => {
      database.run("UPDATE sessions SET header = replace(header, '17', '18')");
    });
    await makeStore(folder.at("b.db"));
    damage(folder.at("b.db"), (database) => rewriteHeader(database, '"version":0', '"version":7'));
    const corrupt = await list([folder.at("a.db"), "--json"]);
    expect(corrupt.code).toBe(0);
    expect(listed(corrupt)).toEqual([
      { id: "default", state: "corrupt", reason: expect.stringContaining("checksum") },
    ]);
    expect((await list([folder.at("a.db"), "--check"])).code).toBe(5);
    const newer = await list([folder.at("b.db"), "--check", "--json"]);
    expect(newer.code).toBe(0);
    expect(listed(newer)).toMatchObject([
      { state: "unsupported", reason: expect.stringContaining("version 7") },
    ]);
    expect((await list([folder.at("b.db")])).stdout).toMatch(/^default( +-){6} +unsupported: .*version 7/m);
  });

  test("files of several places with one id, and a log of a later format", async () => {
    await using folder = await TempFolder.create();
    const root = folder.at("logs");
    await plantSmall(`jsonl:${root}`, ["twice", "later"]);
    const project = "--srv-x--";
    await cp(`${root}/${project}/twice`, `${root}/other/twice`, { recursive: true });
    await rename(
      `${root}/${project}/later/session.jsonl.zstd`,
      `${root}/${project}/later/session.v4.jsonl.zstd`,
    );
    const finished = await list([root, "--json"]);
    expect(finished.code).toBe(0);
    const states = listed(finished);
    expect(states).toHaveLength(3);
    expect(states).toContainEqual(expect.objectContaining({ id: "later", state: "unsupported" }));
    for (const place of [project, "other"]) {
      const location = `${root}/${place}/twice/session.jsonl.zstd`;
      expect(states).toContainEqual(expect.objectContaining({ id: "twice", state: "duplicate", location }));
    }
  });

  test("what only shows inside: damage, what was never fully written, unknown events, none at all", async () => {
    await using folder = await TempFolder.create();
    const root = `jsonl:${folder.at("logs")}`;
    await withStore(root, async (store) => {
      await plant(store, "torn", recordsOfDrafts([title(0)]));
      await plant(store, "torn", recordsOfTexts(['{"type":"session/title","seq":1,"time":0,"data":{}}']));
      await plant(store, "unknown", recordsOfTexts(['{"type":"future/thing","seq":0,"time":0,"data":{}}']));
      await plant(store, "twice", recordsOfDrafts([turnStart(1), turnStart(1)]));
    });
    const path = (id: string) => folder.at("logs/--srv-x--", id, "session.jsonl.zstd");
    await truncate(path("torn"), (await Bun.file(path("torn")).stat()).size - 40);
    await Bun.write(path("empty"), frameOf(`${headerText("empty")}\n`));
    const states = (finished: Finished) =>
      listed(finished)
        .map(({ id, state, events, reason }) => [id, state, events, reason])
        .sort();
    const expected = [
      ["empty", "empty", 0, undefined],
      ["torn", "torn", 1, "The end of the log is damaged or was never fully written"],
      ["twice", "corrupt", 2, expect.stringContaining("A Turn begins before the last one ended")],
      ["unknown", "unsupported", 1, expect.stringContaining("future/thing")],
    ];
    const plain = await list([root, "--json"]);
    expect({ code: plain.code, states: states(plain) }).toEqual({ code: 0, states: expected });
    const checked = await list([root, "--check", "--json"]);
    expect({ code: checked.code, states: states(checked) }).toEqual({ code: 5, states: expected });
    const verified = await runHoldfast(["sessions", "verify", "--session-dir", folder.at("logs"), "--json"]);
    const verdicts = verified.stdout.split("\n").flatMap((line) => {
      const [, id, state] = /^{"kind":"session","id":"(\w+)".*?"state":"(\w+)"/.exec(line) ?? [];
      return id === undefined ? [] : [`${id} ${state}`];
    });
    expect(verdicts.sort()).toEqual(["empty ok", "torn torn", "twice damaged", "unknown unsupported"]);
  });

  test("a damaged database, of which --check knows no session to be whole", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("a.db");
    const events = recordsOfDrafts(Array.from({ length: 300 }, (_, k) => title(k)));
    await withStore(path, async (store) => {
      for (const id of ["a", "b", "c"]) await plant(store, id, events);
    });
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2 / 4_096) * 4_096;
    writeFileSync(path, bytes.fill(0xa5, middle, middle + 4_096));
    const { code, stdout, stderr } = await list([path, "--check"]);
    expect({ code, states: stdout.match(/unsure|corrupt(?=:)/g) }).toEqual({
      code: 5,
      states: ["unsure", "unsure", "corrupt"],
    });
    expect(stderr).toMatch(/itself is damaged; `holdfast sessions verify` says where\n$/);
  });

  test("damage that no revision tells of is found by --check, and known from then on", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    const plain = async () => listed(await list([folder.at("a.db"), "--json"]));
    expect(await plain()).toMatchObject([{ state: "ok" }]);
    damage(folder.at("a.db"), (database) =>
      rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }),
    );
    expect(await plain()).toMatchObject([{ state: "ok" }]);
    const damaged = await list([folder.at("a.db"), "--check", "--json"]);
    expect(damaged.code).toBe(5);
    const found = {
      state: "corrupt",
      events: SEQ.message,
      reason: expect.stringContaining(`seq ${SEQ.message}`),
    };
    expect(listed(damaged)).toMatchObject([found]);
    expect(await plain()).toMatchObject([found]);
  });
});

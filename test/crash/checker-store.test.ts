import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordChecksum } from "../../src/store/sqlite/keys.ts";
import { checkDeeds } from "./deed-checks.ts";
import { Journal } from "./journal.ts";
import type { LogModel } from "./log-model.ts";
import { firstOf, INVOCATIONS, SmallLife } from "./small-life.ts";
import type { StoreLife } from "./store-life.ts";
import { readViews, type StoredViews } from "./stored-views.ts";
import { checkViews } from "./view-checks.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

let small: SmallLife;
/** The log of a Turn with two tools, and of a second one that was cut off after some deltas. */
let log: readonly string[];

beforeAll(async () => {
  small = await SmallLife.create("none");
  log = small.life.seen.texts;
});
afterAll(() => small[Symbol.asyncDispose]());

describe("what clients and the model were told", () => {
  const [{ id }] = INVOCATIONS;

  test("holds", () => {
    const body = small.replay(log).requestFor(id, 1) ?? "";
    expect(() => check({ request: body, answer: answerOf(small.replay(log)) })).not.toThrow();
  });

  test.each<readonly [string, string | RegExp, string, RegExp]>([
    ["another input", "Good", "Bad", /asked something else/],
    ["a result less", /\{"role":"tool".*?\},/, "", /asked something else/],
    [
      "another order of keys",
      '"stream":true,"stream_options":{"include_usage":true}',
      '"stream":true',
      /something else/,
    ],
  ])("is no request with %s", (_, from, to, reason) => {
    const body = small.replay(log).requestFor(id, 1) ?? "";
    expect(body.replace(from, to)).not.toBe(body);
    expect(() => check({ request: body.replace(from, to) })).toThrow(reason);
  });

  test("is no request that came before it was in the log", () => {
    const body = small.replay(log).requestFor(id, 1) ?? "";
    expect(() => check({ request: body }, log.slice(0, firstOf("tool/result", log)))).toThrow(
      /the log knows nothing/,
    );
    expect(() => check({ request: body, attempt: 2 })).toThrow(/attempt 2 .* the log knows of 0 retries/);
  });

  test("is no answer to a Turn that is open, gone or another", () => {
    const answer = answerOf(small.replay(log));
    expect(() => check({ answer }, log.slice(0, firstOf("turn/end", log)))).toThrow(
      /no such Turn, or it is open/,
    );
    expect(() => check({ answer: { ...answer, message: "x" } })).toThrow(/the last answer is/);
    expect(() => check({ answer: { ...answer, turn: 2 } })).toThrow(/it is Turn 1 of 2 Steps/);
    expect(() => check({ answer: { ...answer, usage: { inputTokens: 0, outputTokens: 0 } } })).toThrow(
      /its usage is/,
    );
    expect(() => check({ answer: { ...answer, reason: { kind: "max-tokens" } } })).toThrow(/ended as/);
    expect(() => check({ answer: { code: "invocation-cancelled" }, status: 409 })).toThrow(/ended as/);
    expect(() => check({ answer: { code: "storage-failed" }, status: 500 })).toThrow(/no such failure/);
  });

  function check(
    told: { request?: string; attempt?: number; answer?: object; status?: number },
    texts = log,
  ): void {
    const journal = new Journal();
    const { request, attempt = 1, answer, status = 200 } = told;
    if (request !== undefined) journal.requests.push({ id, answer: 1, attempt, body: request });
    if (answer !== undefined) journal.answers.push({ id, status, body: answer });
    checkDeeds(journal, small.replay(texts));
  }

  function answerOf(model: LogModel): object {
    return { invocationId: id, sessionId: "default", ...model.turns.get(id) };
  }
});

describe("what others make of the log", () => {
  const wrong: ReadonlyArray<
    readonly [string, (views: Required<StoredViews>) => Partial<StoredViews>, RegExp]
  > = [
    ["events of show", ({ lines }) => ({ lines: lines.replace("Good", "Bad") }), /show --events has other/],
    [
      "events of the library",
      ({ fresh }) => ({ fresh: { ...fresh, texts: log.slice(1) } }),
      /the library reads/,
    ],
    [
      "closers of the library",
      ({ fresh }) => ({ fresh: { ...fresh, closers: [] } }),
      /the library would close/,
    ],
    ["count", ({ shown }) => ({ shown: { ...shown, events: 1 } }), /number of events/],
    ["digest", ({ shown }) => ({ shown: { ...shown, digest: "00" } }), /digest/],
    ["torn tail", ({ shown }) => ({ shown: { ...shown, torn: true } }), /torn tail/],
    ["closers of show", ({ shown }) => ({ shown: { ...shown, closers: [] } }), /show --json would close/],
    ["usage", ({ shown }) => ({ shown: { ...shown, usage: { inputTokens: 1, outputTokens: 0 } } }), /counts/],
    ["transcript", ({ shown }) => ({ shown: { ...shown, transcript: [] } }), /the transcript of show/],
    ["header", ({ shown }) => ({ shown: { ...shown, header: {} } }), /the header of show/],
  ];

  test("must agree with it and with each other", async () => {
    const { place, model } = small.life;
    const views = { ...(await readViews(place, "events")), ...(await readViews(place, "json")) };
    const { fresh, lines, shown } = views;
    if (fresh === undefined || lines === undefined || shown === undefined)
      throw new Error("nothing was read");
    const all = { fresh, lines, shown };
    expect(() => checkViews(all, log, model, [])).not.toThrow();
    for (const [, change, reason] of wrong) {
      expect(() => checkViews({ ...all, ...change(all) }, log, model, [])).toThrow(reason);
    }
    const transcript = { nextSeq: 2, text: '{"kind":"user"}' };
    expect(() => checkViews(all, log, model, [transcript])).toThrow(/the transcript of a Host/);
  });
});

describe.each(["sqlite", "none"] as const)("a store that was changed after a kill, in %s,", (kind) => {
  let base: SmallLife;
  beforeAll(async () => {
    base = await SmallLife.create(kind);
  });
  afterAll(() => base[Symbol.asyncDispose]());

  test.each<readonly [string, (life: StoreLife) => Promise<void>, RegExp]>([
    ["one event was lost from its end", dropLast, /the acknowledged event \d+ is gone/],
    ["an event says something else", changeInput, /the acknowledged event 1 is now/],
    ["a tail was set aside that nobody saw torn", quarantine, /was set aside/],
    ["the session is gone", remove, /the acknowledged event 0 is gone/],
  ])("is noticed: %s", async (_, tamper, reason) => {
    const life = await base.copy();
    await tamper(life);
    const check = life.checkStopped({ ready: false, ended: false, form: "events" });
    expect(await check.then(String, String)).toMatch(reason);
  });

  test("may hold no stray file", async () => {
    const { place } = await base.copy();
    expect(place.strays(false)).toEqual([]);
    await writeFile(join(place.folder, "agent.db.creating"), "");
    expect(place.strays(false)).toEqual(["agent.db.creating"]);
  });
});

async function dropLast({ place }: StoreLife): Promise<void> {
  if (place.log === undefined) {
    using database = new Database(place.path);
    database.run("DELETE FROM records WHERE id = (SELECT max(id) FROM records)");
    return;
  }
  const text = await readFile(place.log, "utf8");
  await writeFile(place.log, text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
}

async function changeInput({ place }: StoreLife): Promise<void> {
  if (place.log === undefined) {
    using database = new Database(place.path);
    const row = database
      .query<{ id: number; body: string }, []>(
        "SELECT id, body FROM records WHERE type = 'user/message' LIMIT 1",
      )
      .get();
    const body = row?.body.replace("Good", "Best") ?? "";
    const checksum = recordChecksum({ body, sources: null });
    database.run("UPDATE records SET body = ?, checksum = ? WHERE id = ?", [body, checksum, row?.id ?? 0]);
    return;
  }
  const text = await readFile(place.log, "utf8");
  await writeFile(place.log, text.replace("Good", "Best"));
}

async function quarantine({ place }: StoreLife): Promise<void> {
  await appendFile(`${place.log ?? place.path}.torn-100`, "x");
}

async function remove({ place }: StoreLife): Promise<void> {
  if (place.log !== undefined) await rm(place.log);
  else {
    using database = new Database(place.path);
    database.run("DELETE FROM records");
    database.run("DELETE FROM sessions");
  }
}

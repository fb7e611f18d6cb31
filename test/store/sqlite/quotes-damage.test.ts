import { describe, expect, test } from "bun:test";
import type { SessionEvent } from "../../../src/session/events.ts";
import { recordTexts } from "../../../src/session/records.ts";
import { salvageSession } from "../../../src/store/salvage.ts";
import { openSalvageSource } from "../../../src/store/salvage-source.ts";
import { recordChecksum } from "../../../src/store/sqlite/keys.ts";
import { addChecksum } from "../../../src/store/sqlite/quotes.ts";
import { SqliteReader } from "../../../src/store/sqlite/reader.ts";
import { rejectionOf } from "../../contract/support.ts";
import { damage, rewriteBody } from "../../fixtures/damaged-store.ts";
import { toEvents } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant } from "../../fixtures/stored-sessions.ts";
import { streamedTurn } from "../../fixtures/streamed-log.ts";
import { errorsIn, examine, goOn, ordinaryContents, overwrite, PAGE, piecesOf, repair } from "./damaged.ts";
import { Place } from "./place.ts";

const REASONING = "Milk first. ".repeat(20);
const ANSWER = "Then the bread. ".repeat(20);
const EVENTS = toEvents(
  streamedTurn([
    {
      cites: true,
      blocks: [
        { kind: "reasoning", text: REASONING, cuts: [10, 20, 30] },
        { kind: "text", text: ANSWER, cuts: [10, 20, 30] },
      ],
    },
  ]),
);
const TEXTS = EVENTS.map((event) => JSON.stringify(event));
/** 3 and 4 begin the blocks; 5 to 8 are the first one's deltas, 9 its end; 10 to 13, 14 the second one's; 15 the message. */
const SEQ = { reasoning: 5, reasoningEnd: 9, answer: 10, answerEnd: 14, message: 15 };
const LAST = EVENTS.length - 1;

/** What a checksum covers. */
interface ForgedRow {
  readonly body: string;
  readonly sources: string | null;
}

/** Changes a row, and makes its checksum right. */
function forge(place: Place, seq: number, change: (row: ForgedRow) => ForgedRow): number {
  let checksum = 0;
  damage(place.path, (database) => {
    const row = database
      .query<ForgedRow, [number]>("SELECT body, sources FROM records WHERE seq = ?")
      .get(seq);
    if (row === null) throw new Error(`no row at seq ${seq}`);
    const forged = change(row);
    checksum = recordChecksum(forged);
    const sql = "UPDATE records SET body = ?, sources = ?, checksum = ? WHERE seq = ?";
    database.run(sql, [forged.body, forged.sources, checksum, seq]);
  });
  return checksum;
}

async function filled(): Promise<Place> {
  const place = new Place();
  await using store = await place.open();
  await plant(store, "s", recordsOf(EVENTS));
  return place;
}

function seqsOf(
  findings: ReadonlyArray<{ readonly code: string; readonly place: { readonly seq?: number } }>,
) {
  return findings.map(({ code, place }) => `${code} ${place.seq}`);
}

async function salvaged(from: string): Promise<readonly SessionEvent[]> {
  using place = new Place();
  await using store = await place.open();
  await using source = await openSalvageSource(from);
  for await (const session of source.sessions())
    await salvageSession(session, () => Promise.resolve(store), { clock: () => 1, newId: "new" });
  return store.readFrom("new", 0);
}

describe("deltas that are damaged", () => {
  test("are told with what quotes them; the beginning can be read, and a repair cuts there", async () => {
    using place = await filled();
    damage(place.path, (database) => database.run("UPDATE records SET checksum = 1 WHERE seq = 10"));
    const errors = await errorsIn(place.path);
    expect(seqsOf(errors)).toEqual(["damaged 10", "reference 14", "reference 15", "events-missing 10"]);
    expect(errors[2]).toMatchObject({
      message: "A row quotes deltas that are not there",
      place: { path: place.path, sessionId: "s", row: 2 ** 32 + 15 },
      expected: "deltas from seq 10 to seq 13",
      found: "none at seq 10",
    });
    expect(await ordinaryContents(place.path)).toEqual({ s: TEXTS.slice(0, SEQ.answer) });
    expect((await repair(place.path)).steps).toMatchObject([{ kind: "session", keptEvents: SEQ.answer }]);
    expect(await errorsIn(place.path)).toEqual([]);
    await goOn(place);
    // Nothing of the backup is lost but what lay in the damaged row: the message keeps its other text.
    const events = await salvaged(`${place.path}.backup-1`);
    const parts = events.flatMap(({ type, data }) => (type === "salvage/event" ? [data] : []));
    expect(parts).toMatchObject([
      { reason: "part", record: { seq: SEQ.answerEnd, data: { chunk: { block: { text: "" } } } } },
      {
        reason: "part",
        record: { seq: SEQ.message, data: { message: { content: [{ text: REASONING }, { text: "" }] } } },
      },
    ]);
    const quarantined = await salvaged(`${place.path}.quarantine-1`);
    const kept = quarantined.flatMap(({ type, data }) => (type === "salvage/event" ? [data] : []));
    expect(kept.slice(0, 2)).toMatchObject(parts);
  });

  test.each([
    ["are gone", "DELETE FROM records WHERE seq = 10", ["events-missing 10", "reference 14", "reference 15"]],
    [
      "are those of another block",
      `UPDATE records SET body = replace(body, '"index":1', '"index":0') WHERE seq = 10`,
      ["damaged 10", "events-missing 10", "reference 14", "reference 15"],
    ],
  ])("that %s are missed by what quotes them", async (_, sql, codes) => {
    using place = await filled();
    place.run(sql);
    expect(seqsOf(await errorsIn(place.path)).toSorted()).toEqual(codes.toSorted());
  });

  test("are told where they are others than were quoted, whatever their own checksum says", async () => {
    using place = await filled();
    damage(place.path, (database) => rewriteBody(database, SEQ.answer, "bread", "cream"));
    const errors = await errorsIn(place.path);
    expect(seqsOf(errors)).toEqual(["reference 14", "reference 15", "events-missing 14"]);
    expect(errors[0]).toMatchObject({ message: "A row quotes other deltas" });
  });

  test("are not read for the end of a log that quotes nothing of them, and refuse what does", async () => {
    using place = await filled();
    damage(place.path, (database) => database.run("UPDATE records SET checksum = 1 WHERE seq = 5"));
    using reader = new SqliteReader(place.path);
    const read = (from: number, limit: number) =>
      reader.readSuffix("s", from, limit)?.flatMap(({ record }) => recordTexts(record));
    expect(read(LAST - 1, 2)).toEqual(TEXTS.slice(LAST - 1));
    expect(read(SEQ.answerEnd, 1)).toEqual(TEXTS.slice(SEQ.answerEnd, SEQ.answerEnd + 1));
    expect(() => read(SEQ.message, 1)).toThrow("found at seq 5: The checksum of a row does not match");
    damage(place.path, (database) => database.run("DELETE FROM records WHERE seq = 5"));
    expect(() => read(SEQ.message, 1)).toThrow("quotes deltas that are not there");
  });
});

describe("rows that quote", () => {
  test("are set aside with their whole text, where their deltas stay", async () => {
    using place = await filled();
    damage(place.path, (database) => database.run("UPDATE records SET checksum = 1 WHERE seq = 9"));
    await repair(place.path);
    const rows = piecesOf(`${place.path}.quarantine-1`).flatMap((piece) =>
      piece.kind === "row" ? [piece.values] : [],
    );
    const message = rows.find(({ type }) => type === "assistant/message");
    expect(message).toMatchObject({ body: expect.stringContaining(ANSWER), sources: "[[3,14]]" });
    // The damaged one is kept as it was stored.
    expect(rows[0]).toMatchObject({ checksum: 1, sources: expect.stringContaining("quoted") });
    const events = await salvaged(`${place.path}.quarantine-1`);
    const said = events.filter(({ type }) => type === "assistant/message").map(({ data }) => data);
    expect(said).toEqual([EVENTS[SEQ.message]?.data]);
  });

  test("are put together from pages that no table leads to", async () => {
    using place = await filled();
    using database = place.raw();
    const sql = "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'records'";
    const { page } = database.query<{ page: number }, []>(sql).get() ?? { page: 0 };
    database.close();
    // A leaf that is taken for no page of a table.
    overwrite(place.path, (page - 1) * PAGE, Buffer.of(0x0d, 0xff, 0xff));
    expect((await examine(place.path, true)).contents["s"]).toEqual(TEXTS);
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual({ s: TEXTS });
  });

  test.each([
    ["a later seq", /,5,8\]/, ",5,16]"],
    ["seqs that no record begins or ends with", /,5,8\]/, ",6,8]"],
    ["less than a whole record", /,5,8\]/, ",5,7]"],
    ["deltas of another block, too", /,5,8\]/, ",5,13]"],
    ["what is no delta", /,5,8\]/, ",3,3]"],
    ["deltas backwards", /,5,8\]/, ",8,5]"],
    ["deltas twice", /(\[\d+,\d+,)5,8\]/, "$15,8],$15,8]"],
    ["another text", /\[(\d+),\d+,5,8\]/, "[$1,1,5,8]"],
    ["for a place that is not empty", /\[(\d+),(\d+),5,8\]/, "[7,$2,5,8]"],
    ["for a place beyond the body", /\[(\d+),(\d+),5,8\]/, "[9$1,$2,5,8]"],
    ["nothing", /\[\[\d+,\d+,5,8\].*\]\]/, "[]"],
  ])("%s are refused", async (_, from, to) => {
    using place = await filled();
    forge(place, SEQ.message, ({ body, sources }) => {
      const changed = sources?.replace(from, to) ?? null;
      expect(changed).not.toBe(sources);
      return { body, sources: changed };
    });
    const [error, ...others] = await errorsIn(place.path);
    const at = { path: place.path, sessionId: "s", seq: SEQ.message };
    expect(error).toMatchObject({ message: expect.stringMatching(/quotes|sources/), place: at });
    // What is damaged by itself is told with its gap.
    expect(seqsOf(others)).toEqual(error?.code === "reference" ? ["events-missing 15"] : []);
    if (error?.code !== "reference") expect(error?.missing).toEqual({ seq: SEQ.message, events: 1 });
  });

  test.each([
    // Sound JSON, in a form that nobody writes: what stands between its strings is not what it should be.
    ["deltas of another form", (text: string) => text.replace('","', '" , "')],
    ["deltas that are no JSON", (text: string) => text.replace('","', '"","')],
    ["deltas with half an escape", (text: string) => text.replace('"]}}', '\\"]}}')],
    ["what was no delta", (text: string) => text.replace('"text-chunks"', '"test/chunks"')],
  ])("%s are refused with a typed error, although all checksums are right", async (_, change) => {
    using place = await filled();
    const first = forge(place, SEQ.answer, ({ body, sources }) => {
      expect(change(body)).not.toBe(body);
      return { body: change(body), sources };
    });
    for (const seq of [SEQ.answerEnd, SEQ.message]) {
      forge(place, seq, ({ body, sources }) => ({
        body,
        sources: sources?.replace(/(\[\d+,)\d+(,10,13\])/, `$1${addChecksum(0, first)}$2`) ?? null,
      }));
    }
    using reader = new SqliteReader(place.path);
    for (const seq of [SEQ.answerEnd, SEQ.message]) {
      const reading = Promise.try(() => reader.readSuffix("s", seq, 1));
      expect(await rejectionOf(reading)).toMatchObject({ code: "corrupt", place: { sessionId: "s", seq } });
    }
    expect((await errorsIn(place.path)).length).toBeGreaterThan(0);
  });
});

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { eventSchemas } from "../../src/session/event-schemas.ts";
import { MAX_JSON_DEPTH } from "../../src/session/json.ts";
import { decodeRecord, recordEvents } from "../../src/session/records.ts";
import { interruptedAnswer } from "../../src/session/recovery.ts";
import { codeIn, ROOT, readDocument, tableWith } from "./markdown.ts";
import { Scenario } from "./scenario.ts";

/* docs/format.md and docs/durability.md against the schemas, the SQL files and a store that a Host wrote. */

const format = readDocument("docs/format.md");
const durability = readDocument("docs/durability.md");

function firstColumn(...headers: readonly string[]): string[] {
  return tableWith(format, ...headers).rows.map(([name]) => codeIn(name)[0] ?? "");
}

describe("vocabulary", () => {
  test("strict types", () => {
    expect(firstColumn("type", "data")).toEqual(Object.keys(eventSchemas().data));
  });

  test("content blocks", () => {
    const types = eventSchemas().contentBlock.options.map(({ shape }) => String(shape.type.value));
    expect(firstColumn("block", "members").sort()).toEqual(types.sort());
  });

  test("chunks", () => {
    const types = eventSchemas().data["assistant/chunk"].shape.chunk.options.map(({ shape }) =>
      String(shape.type.value),
    );
    expect(firstColumn("chunk", "members").sort()).toEqual(types.sort());
  });

  test("reasons", () => {
    const kinds = eventSchemas().data["turn/end"].shape.reason.options.map(({ shape }) =>
      String(shape.kind.value),
    );
    expect(firstColumn("kind", "meaning").sort()).toEqual(kinds.sort());
  });

  test("depth", () => {
    expect(format.prose).toContain(`| nesting of one event | ${MAX_JSON_DEPTH} arrays and objects |`);
  });

  test("the run that is shown is the events that are shown", () => {
    const shown = format.blocks.filter(({ language }) => language === "json");
    const values: unknown[] = shown.map(({ text }) => JSON.parse(text));
    const run = values.find((value) => z.object({ seq0: z.number() }).safeParse(value).success);
    const { record } = decodeRecord(JSON.stringify(run), {});
    expect(values.find(Array.isArray)).toEqual([...recordEvents(record)]);
  });
});

test("what a model reads after a crash is what is shown", () => {
  const { rows } = tableWith(durability, "the call", "error", "what the model reads");
  const call = { callId: "c", name: "t" };
  const answers = [interruptedAnswer(call, "m"), interruptedAnswer({ ...call, callSeq: 1 }, "m")];
  expect(rows.map(([, error, text]) => [...codeIn(error), text])).toEqual(
    answers.map(({ error, text }) => [error.name, error.code, text]),
  );
});

const SQL = format.blocks.filter(({ language }) => language === "sql").map(({ text }) => text.trim());

test("tables are made as shown", () => {
  for (const name of ["sessions", "records"]) {
    const made = readFileSync(join(ROOT, `src/store/sqlite/sql/create-${name}.sql`), "utf8").trim();
    expect(SQL).toContain(made);
  }
});

const rowSchema = z.object({ body: z.string(), sources: z.string().nullable(), checksum: z.number() });
const sessionSchema = z.object({ key: z.string(), header: z.string(), checksum: z.number() });

test.skipIf(process.platform === "win32")(
  "a store that a Host wrote is as described",
  async () => {
    await using scenario = new Scenario();
    await scenario.run("mkdir notes && echo '# Buy milk' > notes/README.md");
    await scenario.run("holdfast serve --session-db data/agent.db --workspace notes");
    await scenario.run("holdfast invoke 'Where is the milk?'");
    const served: unknown = await (await fetch(`${scenario.url}/api/v1/sessions/default`)).json();

    const files = tableWith(durability, "file", "what it is").rows.map(([name]) => codeIn(name)[0] ?? "");
    for (const name of readdirSync(join(scenario.folder, "data"))) expect(files).toContain(name);

    await scenario.stop("SIGTERM");
    using database = new Database(join(scenario.folder, "data/agent.db"), { readonly: true });
    const identity = "SELECT * FROM pragma_application_id, pragma_user_version";
    expect(database.query(identity).values()).toEqual([[1215261796, 2]]);
    expect(format.prose).toContain(
      "`application_id` is 1215261796 (`Hold` in ASCII, 0x486f6c64). `user_version` is 2.",
    );

    const rows = z
      .array(rowSchema)
      .parse(database.query("SELECT body, sources, checksum FROM records").all());
    expect(rows.some(({ sources }) => sources !== null)).toBeTrue();
    for (const { body, sources, checksum } of rows)
      expect(Bun.hash.crc32(body + (sources ?? ""))).toBe(checksum);
    for (const row of database.query("SELECT key, header, checksum FROM sessions").all()) {
      const { key, header, checksum } = sessionSchema.parse(row);
      expect(Bun.hash.crc32(`${key}\n${header}`)).toBe(checksum);
    }

    const queries = SQL.filter((sql) => !sql.startsWith("CREATE"));
    for (const sql of queries) expect(database.query(sql).all().length, sql).toBeGreaterThan(0);
    expect(z.object({ events: z.unknown() }).parse(served).events).toEqual(eventsOfView(database));
  },
  30_000,
);

const viewSchema = z.object({
  type: z.string(),
  seq: z.number(),
  time: z.number(),
  data: z.string(),
  source_event_seqs: z.string().nullable(),
  surface_op: z.string().nullable(),
  ignorable: z.string().nullable(),
});

/** The events as the view shows them. */
function eventsOfView(database: Database): unknown[] {
  const rows = database.query("SELECT * FROM session_events WHERE session_id = 'default' ORDER BY seq").all();
  return z
    .array(viewSchema)
    .parse(rows)
    .map((row) => {
      const { type, seq, time, data, source_event_seqs: sources, surface_op: surfaceOp, ignorable } = row;
      return {
        type,
        seq,
        time,
        data: JSON.parse(data),
        ...(sources === null ? {} : { sourceEventSeqs: JSON.parse(sources) }),
        ...(surfaceOp === null ? {} : { surfaceOp: JSON.parse(surfaceOp) }),
        ...(ignorable === null ? {} : { ignorable: JSON.parse(ignorable) }),
      };
    });
}

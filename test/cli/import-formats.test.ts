import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { JsonlFormat } from "../../src/cli/sessions/exchange/formats/jsonl.ts";
import { isOtherJson } from "../../src/cli/sessions/exchange/formats/read-log.ts";
import { readSessions } from "../../src/cli/sessions/exchange/formats/reader.ts";
import { decodeHeader } from "../../src/session/header.ts";
import { recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { measure } from "../../src/store/copy.ts";
import { LogDigest } from "../../src/store/digest.ts";
import { examinedSource } from "../../src/store/examined-source.ts";
import { arbitraryEvents, batchSizes, oddString } from "../fixtures/arbitraries.ts";
import { dshSamples } from "../fixtures/dsh-samples.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { headerText, recordsOfTexts } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/** What `export --format jsonl` writes. */
function exported(sessions: readonly { header: string; records: readonly SessionRecord[] }[]): string {
  const format = new JsonlFormat();
  const parts = sessions.map(({ header, records }) => {
    const head = format.beginSession({ header: decodeHeader(header, {}), headerText: header });
    const texts = records.flatMap((record) =>
      recordTexts(record).map((text) => format.event({ ...record, count: 1, text })),
    );
    return head + texts.join("") + format.endSession();
  });
  return format.begin() + parts.join("") + format.end();
}

function digestOf(records: readonly SessionRecord[]): string {
  const digest = new LogDigest();
  for (const record of records) digest.add(record);
  return digest.hex();
}

/** Ids, digests and torn ends of what is read. */
async function read(path: string): Promise<{ id: string; digest: string; torn: boolean }[]> {
  const found = [];
  for await (const session of readSessions(path)) {
    const source = await examinedSource(session).stream(session.id);
    const { digest, torn } = await measure(source);
    found.push({ id: source.header.id, digest, torn });
  }
  return found;
}

const PLAIN = recordsOfTexts(['{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}']);

describe("what export wrote", () => {
  test("of any sessions reads back with equal digests, also when it is packed for a store", async () => {
    await using folder = await TempFolder.create();
    const session = fc.record({ events: arbitraryEvents(), sizes: batchSizes(), cwd: oddString() });
    await fc.assert(
      fc.asyncProperty(fc.array(session, { minLength: 1, maxLength: 3 }), async (plans) => {
        const sessions = plans.map(({ events, sizes, cwd }, k) => ({
          header: headerText(`s-${k}`, { cwd }),
          records: recordsOf(events, sizes),
        }));
        const path = folder.at(`${crypto.randomUUID()}.jsonl`);
        await Bun.write(path, exported(sessions));
        expect(await read(path)).toEqual(
          sessions.map(({ records }, k) => ({ id: `s-${k}`, digest: digestOf(records), torn: false })),
        );
      }),
      { numRuns: 40 },
    );
  });

  test("keeps a header as it is, and each event on a line", async () => {
    await using folder = await TempFolder.create();
    const header = ' { "version":0,\n"id":"s","createdAt":1,"more":12345678901234567890}';
    const records = recordsOfTexts(['{"type":"x/y",\n"seq":0,"time":1,"data":{"a":"\\n"},"ignorable":true}']);
    const text = exported([
      { header, records },
      { header: headerText("t"), records: PLAIN },
    ]);
    expect(text.split("\n")).toHaveLength(5);
    expect(text).toStartWith('{"type":"session","version":0, "id":"s",');
    expect(text).toContain('"more":12345678901234567890,"delegationDepth":0}\n');
    await Bun.write(folder.at("all.jsonl"), text);
    expect((await read(folder.at("all.jsonl"))).map(({ id }) => id)).toEqual(["s", "t"]);
  });

  test("keeps what is whole of the last session when it was cut short", async () => {
    await using folder = await TempFolder.create();
    const text = exported(["s", "t"].map((id) => ({ header: headerText(id), records: PLAIN })));
    await Bun.write(folder.at("all.jsonl"), `${text}{"type":"turn/e`);
    const digest = digestOf(PLAIN);
    expect(await read(folder.at("all.jsonl"))).toEqual([
      { id: "s", digest, torn: false },
      { id: "t", digest, torn: true },
    ]);
  });

  test("is damaged where a line is longer than any may be", async () => {
    await using folder = await TempFolder.create();
    const text = exported(["s", "t"].map((id) => ({ header: headerText(id), records: PLAIN })));
    const file = Bun.file(folder.at("long.jsonl")).writer();
    file.write(text);
    for (let k = 0; k < 66; k += 1) {
      file.write(Buffer.alloc(1024 * 1024, 32));
      await file.flush();
    }
    file.write("\n");
    await file.end();
    expect(await read(folder.at("long.jsonl")).catch((error: unknown) => String(error))).toContain(
      "longer than 64 MiB",
    );
  });
});

describe.each(["zstd", "none"] as const)("what dsh wrote, as %s,", (encoding) => {
  const samples = dshSamples(encoding);

  test.skipIf(samples.absent)("is exported and read back with the same digests", async () => {
    await using folder = await TempFolder.create();
    const refused = new Set(samples.refused.map(({ id }) => id));
    const sessions = [];
    for await (const session of readSessions(samples.root)) {
      if (refused.has(session.id)) continue;
      const { headerText: header, pages } = await examinedSource(session).stream(session.id);
      const records = (await Array.fromAsync(pages)).flat().map(({ record }) => record);
      sessions.push({ id: session.id, header, records });
    }
    expect(sessions).toHaveLength(samples.sessions.length);
    await Bun.write(folder.at("all.jsonl"), exported(sessions));
    expect(await read(folder.at("all.jsonl"))).toEqual(
      sessions.map(({ id, records }) => ({ id, digest: digestOf(records), torn: false })),
    );
  });
});

test("sessions are found in a root, a project, a home of dsh, the folder of one, and among exported files", async () => {
  await using folder = await TempFolder.create();
  const text = exported([{ header: headerText("s"), records: PLAIN }]);
  await mkdir(folder.at("files"));
  await Bun.write(folder.at("files/history.jsonl"), '{"command":"x"}\n');
  for (const [place, named] of [
    ["root/project/s/session.jsonl", "root"],
    ["root2/project/s/session.jsonl", "root2/project"],
    ["root3/project/other/session.jsonl", "root3/project/other"],
    ["root4/project/s.jsonl", "root4"],
    ["home/sessions/project/s/session.jsonl", "home"],
    ["files/any name.jsonl", "files"],
    ["file.txt", "file.txt"],
  ] as const) {
    await mkdir(join(folder.at(place), ".."), { recursive: true });
    await Bun.write(folder.at(place), text);
    expect([named, await read(folder.at(named))]).toEqual([
      named,
      [{ id: "s", digest: digestOf(PLAIN), torn: false }],
    ]);
  }
});

test("a log is read wherever it lies, also where another one has its id", async () => {
  await using folder = await TempFolder.create();
  const text = exported([{ header: headerText("s"), records: PLAIN }]);
  for (const place of ["a/s", "b/s", "b/copied by hand"])
    await Bun.write(folder.at(`root/${place}/session.jsonl`), text);
  const found = { id: "s", digest: digestOf(PLAIN), torn: false };
  expect(await read(folder.at("root"))).toEqual([found, found, found]);
});

test.each([
  ["root", "root/project/s/session.jsonl"],
  ["home", "home/sessions/project/s/session.jsonl"],
  ["project", "project/s/session.jsonl"],
  ["files", "files/exported.jsonl"],
])("a log that strayed to the top of a %s hides nothing else in it", async (named, place) => {
  await using folder = await TempFolder.create();
  const log = (id: string) => exported([{ header: headerText(id), records: PLAIN }]);
  await Bun.write(folder.at(place), log("s"));
  await Bun.write(folder.at(`${named}/session.jsonl`), log("stray"));
  expect((await read(folder.at(named))).map(({ id }) => id)).toEqual(["stray", "s"]);
});

describe("a file that begins with a brace", () => {
  const HEADER = '{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}';
  const isOther = async (text: string) => {
    await using folder = await TempFolder.create();
    const path = folder.at("file");
    await Bun.write(path, text);
    return await isOtherJson({ path, kind: "file", beginning: Buffer.from(text).subarray(0, 64) });
  };

  test.each([
    ["a header", HEADER],
    ["the header of a row", '{"version":0,"id":"s","createdAt":1}'],
    ["a header of a later version", '{"type":"session","version":7}'],
    ["an event, where the header is lost", '{"type":"turn/start","seq":3,"time":1,"data":{"turn":1}}'],
    ["an event that is larger than what is looked at", `{"type":"x","data":"${"x".repeat(70_000)}","seq":3}`],
    ["a header with a flipped bit", HEADER.replace(',"id"', ',#id"')],
    ["a header that was cut short", HEADER.slice(0, 12)],
  ])("may be a session log: %s", async (_, line) => {
    expect(await isOther(`${line}\n{"type":"turn/end","seq":1}\n`)).toBe(false);
  });

  test.each([
    ["over many lines", '{\n  "name": "x",\n  "version": "1.0.0"\n}\n'],
    ["in one line", '{"name":"x","version":"1.0.0"}'],
    ["in one line that is larger than what is looked at", `{"name":"${"x".repeat(70_000)}"}`],
    ["a log of another tool", '{"type":"user","message":"hi"}\n{"type":"assistant"}\n'],
    ["no JSON at all", "{ this is no JSON"],
  ])("is something else: %s", async (_, text) => {
    expect(await isOther(text)).toBe(true);
  });
});

import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { checkInput } from "./check-input.ts";
import { type Corpus, makeCorpus } from "./corpus.ts";
import { Fault } from "./fault.ts";
import {
  examining,
  forgetful,
  overriding,
  reading,
  repairing,
  streaming,
  touched,
  withError,
  withGap,
  withOtherText,
  withoutLast,
  withTypeError,
} from "./lying-stores.ts";
import { fuzz } from "./runner.ts";
import { HOLDFAST, type Subject } from "./subject.ts";
import { DATABASE, type Input, LOGS } from "./types.ts";

/*
 * The fuzzer's own test: each of its rules is broken by a store that lies in one way, and must be seen to be broken.
 */

const ALL = { deep: true, write: true, repair: true, replan: true, salvage: true, execute: false } as const;
const corpora = new Map<StoreKind, Promise<Corpus>>();

function corpusOf(kind: StoreKind): Promise<Corpus> {
  const corpus = corpora.get(kind) ?? makeCorpus(kind, 1, false);
  corpora.set(kind, corpus);
  return corpus;
}

/** A store that nothing was done to, or of which the last few bytes, or some in the middle of a log, are gone. */
async function inputOf(kind: StoreKind, damage: "none" | "tail" | "middle"): Promise<Input> {
  const { logs, databases } = await corpusOf(kind);
  const [database] = databases;
  const log = logs.find(({ original }) => original.id === "own-6");
  const shared = { kind, steps: [damage], untouched: [], forged: false, onlyCut: false, patience: 10_000 };
  if (log === undefined) {
    const { files = new Map(), originals = [] } = database ?? {};
    const bytes = Buffer.from(files.get(DATABASE) ?? "");
    const at = bytes.lastIndexOf('"time":');
    if (damage !== "none") bytes.write("x", at);
    return { ...shared, files: new Map([[DATABASE, bytes]]), originals };
  }
  const bytes = Buffer.from(damage === "tail" ? log.bytes.subarray(0, -3) : log.bytes);
  if (damage === "middle") bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 9);
  return { ...shared, files: new Map([[`${LOGS}/${log.path}`, bytes]]), originals: [log.original] };
}

/** The rule that an input breaks with a subject; nothing where it breaks none. */
async function brokenRule(input: Input, subject: Subject = HOLDFAST): Promise<string | undefined> {
  try {
    await checkInput(input, () => undefined, ALL, subject);
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.check;
    throw error;
  }
}

type Case = readonly [
  lie: string,
  kind: StoreKind,
  damage: "none" | "tail" | "middle",
  Subject,
  rule: string,
];

const CASES: readonly Case[] = [
  ["gives out another text", "none", "none", streaming(withOtherText), "what is read is what the file says"],
  ["gives out another text", "zstd", "none", streaming(withOtherText), "what is read is what the file says"],
  ["gives out another text", "sqlite", "none", streaming(withOtherText), "what is read was written"],
  ["leaves out the last record", "zstd", "none", streaming(withoutLast), "what precedes the damage is read"],
  [
    "leaves out the last record",
    "sqlite",
    "none",
    streaming(withoutLast),
    "what precedes the damage is read",
  ],
  ["leaves out the first record", "none", "none", streaming(withGap), "no seq is left out"],
  ["stops before the damage", "zstd", "middle", streaming(withError), "what precedes the damage is read"],
  ["throws what is not typed", "sqlite", "none", streaming(withTypeError), "errors are typed"],
  [
    "calls a sound log torn",
    "zstd",
    "none",
    streaming(withoutLast, true),
    "what precedes the damage is read",
  ],
  [
    "says nothing of a torn end",
    "zstd",
    "tail",
    streaming((pages) => pages, false),
    // What the beginning of the frame yields belongs to no whole frame.
    "what is read is what the file says",
  ],
  [
    "says nothing of a torn end",
    "none",
    "tail",
    streaming((pages) => pages, false),
    "nothing is passed over in silence",
  ],
  ["writes while it reads", "sqlite", "none", touched, "reading changes nothing"],
  [
    "inspects what it does not read",
    "zstd",
    "none",
    reading((store) => ({ inspect: async (id) => ({ ...(await store.inspect(id)), torn: true }) })),
    "inspecting reads what streaming reads",
  ],
  [
    "reads nothing from the middle on",
    "sqlite",
    "none",
    reading(() => ({ readFrom: async () => [] })),
    "reading a part reads what reading all reads",
  ],
  [
    "examines past the damage in silence",
    "zstd",
    "middle",
    examining(() => ({ items: async function* () {} })),
    "what is not read is no sound log",
  ],
  [
    "finds damage where there is none",
    "zstd",
    "none",
    examining((session) => ({
      findings: [{ code: "damaged", message: "made up", place: { path: session.location } }],
    })),
    "what is read to the end is sound",
  ],
  [
    "examines no session",
    "sqlite",
    "none",
    {
      ...HOLDFAST,
      openExaminer: async (...args) =>
        overriding(await HOLDFAST.openExaminer(...args), { sessions: async function* () {} }),
    },
    "what is read is verified",
  ],
  ["acknowledges what it does not store", "zstd", "none", forgetful, "what is acknowledged is there"],
  ["acknowledges what it does not store", "sqlite", "none", forgetful, "what is acknowledged is there"],
  [
    "repairs nothing",
    "sqlite",
    "middle",
    repairing(() => ({ carryOut: async () => undefined })),
    "what was repaired is sound",
  ],
  [
    "makes no backup",
    "none",
    "middle",
    repairing(() => ({ carryOut: async () => undefined })),
    "a backup is what was there",
  ],
  [
    "plans no repair",
    "zstd",
    "middle",
    repairing(() => ({ plan: async () => ({ steps: [], helpless: [] }) })),
    "a repair does what was planned",
  ],
];

describe("a damaged store", () => {
  test.each([
    ["sqlite", "none"],
    ["zstd", "none"],
    ["none", "none"],
    ["sqlite", "middle"],
    ["zstd", "middle"],
    ["none", "middle"],
    ["zstd", "tail"],
    ["none", "tail"],
  ] as const)("breaks no rule: %s, damaged at the %s", async (kind, damage) => {
    expect(await brokenRule(await inputOf(kind, damage))).toBeUndefined();
  });

  test.each(CASES)(
    "breaks a rule when the store %s: %s, damaged at the %s",
    async (_, kind, damage, subject, rule) => {
      expect(await brokenRule(await inputOf(kind, damage), subject)).toBe(rule);
    },
  );
});

describe.skipIf(process.platform === "win32")("the runner", () => {
  test.concurrent.each([
    ["hangs", /^it took more than 0\.5 s$/],
    ["grows", /^it took \d+ MiB of memory$/],
    ["dies", /^the process ended by itself, with exit code 3/],
    ["rejects", /made up/],
  ] as const)(
    "sees a child that %s, names the input, and goes on with the next",
    async (sabotage, what) => {
      // From the second one on: the first is one of those that the executable reads.
      const report = await fuzz({
        kind: "none",
        seed: 1,
        first: 1,
        end: 4,
        sabotage: { number: 2, sabotage },
      });
      for (const { folder } of report.failures) if (folder !== undefined) rmSync(folder, { recursive: true });
      expect(report.failures).toMatchObject([{ number: 2, what: expect.stringMatching(what) }]);
      expect(report.inputs).toBe(3);
    },
    60_000,
  );
});

import { beforeAll, describe, expect, test } from "bun:test";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import type { SessionHeader } from "../../src/session/header.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepStart,
  toEvents,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh, type DshRoot } from "./dsh.ts";
import { openRoot } from "./rewriting.ts";

/*
 * Where dsh is stricter: what Holdfast takes and writes, but dsh then refuses to read, and why. Programs whose sessions
 * must load in dsh keep to these rules as well. A row goes when Holdfast refuses it, too.
 */

const TIMEOUT_MS = 60_000;
const AT = { turn: 1, step: 1 };

const dsh = await bringDsh();
const skipped = dsh.missing === undefined ? "" : ` (skipped: ${dsh.missing})`;

interface Refusal {
  readonly drafts: readonly EventDraft[];
  /** Part of dsh's error. */
  readonly why: string;
  /** Changes the last event. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A draft whose `data` has other members as well, or others in their place. */
function withData(draft: EventDraft, members: Readonly<Record<string, unknown>>): EventDraft {
  return { ...draft, data: { ...Object(draft.data), ...members } } as EventDraft;
}

function requestHeader(config: object, members: object = {}): EventDraft {
  const header = { config: { provider: "demo", model: "demo-1", ...config }, ...members };
  return { type: "request/header", data: { header, reason: "initial" } };
}

const CALLED = [turnStart(1), stepStart(AT), assistantMessage(AT, [callBlock("c")]), toolCall(AT, "c")];
const ANSWERED = [...CALLED, toolResult(AT, "c", "all of it", { sources: [3], meta: { lines: 2 } })];
const NAMELESS_MODEL = {
  id: "a",
  role: "assistant",
  content: [],
  source: { kind: "model", provider: "", model: "m" },
};

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "a type that only a group of Holdfast's covers": {
    drafts: [{ type: "subagent/sample", data: {} }],
    why: 'contains event type "subagent/sample" (seq 0) unknown to this harness',
  },
  "a name of a removed type, though it is ignorable": {
    drafts: [{ type: "mode/set", data: {}, ignorable: true }],
    why: "contains unsupported legacy mode/set event at seq 0",
  },
  "a replaced result that differs in more than its content": {
    drafts: [...ANSWERED, replacing(toolResult(AT, "c", "less"), 4, 4, [4])],
    why: "tool/result surface replacement may change only content",
  },
  "an answer without the name of its provider": {
    drafts: [...CALLED.slice(0, 2), withData(assistantMessage(AT, []), { message: NAMELESS_MODEL })],
    why: "session event at seq 2 message must have model source",
  },
  "an empty list of sources, but on an answer": {
    drafts: [{ ...userMessage("hello"), sourceEventSeqs: [] }],
    why: "sourceEventSeqs must not be empty except on assistant/message",
  },
  "an event that says that it is not ignorable": {
    drafts: [{ ...turnStart(1), ignorable: false }],
    why: "seed event at index 0 has an invalid event envelope",
  },
  "an unknown member beside those of the envelope": {
    drafts: [turnStart(1)],
    extra: { note: "mine" },
    why: "seed event at index 0 has an invalid event envelope",
  },
  "an unknown member in the end of a Turn": {
    drafts: [turnStart(1), withData(turnEnd(1), { note: "mine" })],
    why: "malformed pre-react-loop turn/end at seq 1",
  },
  "a Turn with the number 0": {
    drafts: [turnStart(0), turnEnd(0)],
    why: "malformed pre-react-loop turn/end at seq 1",
  },
  "an empty reasoning effort": {
    drafts: [requestHeader({ reasoningEffort: "" })],
    why: "seed request/header at index 0 has an invalid reasoningEffort",
  },
  "adapter defaults for settings that are not there": {
    drafts: [requestHeader({}, { adapterDefaults: { maxTokens: true } })],
    why: "seed request/header at index 0 has invalid adapterDefaults",
  },
};

const HEADER: SessionHeader = { version: 0, id: "s", createdAt: 1, delegationDepth: 0 };

function eventsOf({ drafts, extra = {} }: Refusal): SessionEvent[] {
  return toEvents(drafts).map((event, k) => (k === drafts.length - 1 ? { ...event, ...extra } : event));
}

interface Written {
  readonly header: SessionHeader;
  readonly events: readonly SessionEvent[];
}

/** Headers that dsh refuses, each in a root of its own. */
const ODD_HEADERS: ReadonlyArray<Partial<SessionHeader>> = [
  { cwd: "C:\\work" },
  { cwd: "work" },
  { origin: "import" },
];

function plainTurn(header: Partial<SessionHeader>): Written {
  return { header: { ...HEADER, ...header }, events: toEvents([turnStart(1), turnEnd(1)]) };
}

async function write(root: string, sessions: readonly Written[]): Promise<void> {
  await using store = await openRoot(root, "none");
  for (const { header, events } of sessions) {
    await using session = await store.create(header);
    await store.append(session.id, events);
  }
}

/** What dsh says of each root. */
async function readAll(roots: ReadonlyArray<readonly Written[]>): Promise<readonly DshRoot[]> {
  await using folder = await TempFolder.create();
  const requests = roots.map((sessions, k) => ({
    root: folder.at(`root-${k}`),
    encoding: "none" as const,
    ids: sessions.map(({ header }) => header.id),
  }));
  for (const [k, sessions] of roots.entries()) await write(folder.at(`root-${k}`), sessions);
  return await dsh.read(requests);
}

function errorOf(root: DshRoot | undefined, id: string): string {
  const found = root?.sessions[id];
  return found !== undefined && "error" in found ? found.error : "no error";
}

describe.skipIf(dsh.missing !== undefined)(`dsh refuses what Holdfast writes${skipped}`, () => {
  let read: readonly DshRoot[] = [];

  // All at once: starting dsh takes longer than what it does here.
  beforeAll(async () => {
    const faulty = Object.entries(REFUSALS).map(([id, refusal]) => ({
      header: { ...HEADER, id },
      events: eventsOf(refusal),
    }));
    const headers = ODD_HEADERS.map((header) => [plainTurn(header), plainTurn({ id: "sound" })]);
    read = await readAll([faulty, ...headers]);
  }, TIMEOUT_MS);

  test.each(Object.entries(REFUSALS))("%s", (name, { why }) => {
    expect(errorOf(read[0], name)).toContain(why);
  });

  test("a folder that is no absolute path here", () => {
    for (const root of read.slice(1, 3)) {
      expect(errorOf(root, HEADER.id)).toContain("session header cwd must be an absolute path");
      expect(Object.keys(Object(root.listed)).toSorted()).toEqual([HEADER.id, "sound"]);
    }
  });

  test("an origin other than subagent; its listing leaves that session out", () => {
    expect(errorOf(read[3], HEADER.id)).toContain("first line is not a session header");
    expect(Object.keys(Object(read[3]?.listed))).toEqual(["sound"]);
  });

  test("none of the sessions beside these, when they are asked for by their ids", () => {
    expect(read.slice(1).map((root) => errorOf(root, "sound"))).toEqual(ODD_HEADERS.map(() => "no error"));
  });
});

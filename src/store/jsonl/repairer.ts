import { Breather, breathe } from "../breathe.ts";
import { StorageFailedError } from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import { type Finding, isError } from "../finding.ts";
import type { RepairOptions, RepairPlan, RepairStep, SessionRepair, StoreRepairer } from "../repairer.ts";
import { acquireWriterLock, type WriterLock } from "../writer-lock.ts";
import type { Body } from "./beginning.ts";
import { findCut, type LogCut } from "./cut.ts";
import { draftsIn, type LogEntry } from "./directory.ts";
import { beginEntry, type EntryBeginning, suspectEntries } from "./examine.ts";
import { isSettled, PATIENCE, type Patience, unreadable } from "./examine-log.ts";
import { decodeId, INDEX_SUFFIX, lockFiles } from "./layout.ts";
import { LogFile, toLogError } from "./log-file.ts";
import { remakeHeader } from "./remake-header.ts";
import { type RepairNames, repairDrafts, repairNames } from "./repair-names.ts";
import { type RestPiece, restOf } from "./rest.ts";
import { isQuarantineOf, type Rewrite, rewriteLog } from "./rewrite.ts";
import { usedRoot } from "./root.ts";
import { sweep } from "./sweep.ts";

/** How often a torn end that may be growing still is looked at. */
const LOOKS = 3;
/** Opening a log counts as much as reading so many bytes. */
const BYTES_A_LOG = 16 * 1024;

/** A root opened for repair, with its lock. @throws StoreNotFoundError, LockedError, StorageFailedError */
export async function repairJsonl(path: string, system: FileSystem = SYSTEM): Promise<StoreRepairer> {
  const root = usedRoot(path);
  const lock = acquireWriterLock(root, undefined, lockFiles(root));
  // What a repair left that was killed, too.
  for (const draft of draftsIn(root)) sweep(draft);
  return new JsonlRepairer(root, lock, system);
}

/** What a repair would do, without the lock. Reads only. @throws StoreNotFoundError, StorageFailedError */
export async function planJsonlRepair(path: string, options: RepairOptions = {}): Promise<RepairPlan> {
  return planOf(await planRepairs(usedRoot(path), options, PATIENCE));
}

class JsonlRepairer implements StoreRepairer {
  readonly #root: string;
  readonly #lock: WriterLock;
  readonly #system: FileSystem;
  #planned: ReadonlyMap<RepairStep, PlannedRewrite> = new Map();

  constructor(root: string, lock: WriterLock, system: FileSystem) {
    this.#root = root;
    this.#lock = lock;
    this.#system = system;
  }

  async plan(options: RepairOptions = {}): Promise<RepairPlan> {
    const plans = await planRepairs(this.#root, options);
    this.#planned = new Map([...this.#planned, ...plans.steps]);
    return planOf(plans);
  }

  async carryOut(step: RepairStep, { onProgress }: Pick<RepairOptions, "onProgress"> = {}): Promise<void> {
    const planned = this.#planned.get(step);
    if (planned === undefined || step.kind !== "session") throw new TypeError("a step of another plan");
    const { entry, revision, rewrite, names } = planned;
    const place = { path: entry.path, sessionId: step.id };
    using file = open(entry, step.id);
    if (file.revision !== revision) {
      throw new StorageFailedError("The log changed after its repair was planned", {
        place,
        hint: "Another program writes to it. Stop that one, and repair the session again.",
      });
    }
    // Beside a log that a link leads to, where nobody else removes them.
    for (const draft of repairDrafts(names.path)) sweep(draft);
    await rewriteLog(file, step.id, rewrite, names, this.#system, onProgress);
    sweep(entry.path + INDEX_SUFFIX);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lock[Symbol.dispose]();
  }
}

interface PlannedRewrite {
  readonly entry: LogEntry;
  readonly revision: string;
  readonly rewrite: Rewrite;
  readonly names: RepairNames;
}

interface Plans {
  readonly steps: ReadonlyMap<SessionRepair, PlannedRewrite>;
  readonly helpless: readonly Finding[];
  readonly hasMoreHelpless: boolean;
}

function planOf({ steps, helpless, hasMoreHelpless }: Plans): RepairPlan {
  return { steps: [...steps.keys()], helpless, ...(hasMoreHelpless ? { hasMoreHelpless } : {}) };
}

/** @param patience where somebody else may be writing */
async function planRepairs(
  root: string,
  { ids, onProgress, signal }: RepairOptions,
  patience?: Patience,
): Promise<Plans> {
  const steps = new Map<SessionRepair, PlannedRewrite>();
  const helpless: Finding[] = [];
  let hasMoreHelpless = false;
  const entries = [...suspectEntries(root, ids)];
  const breather = new Breather();
  for (const [index, { entry, isSuspect }] of entries.entries()) {
    if (breather.isDue(BYTES_A_LOG)) await breathe();
    signal?.throwIfAborted();
    const begun = beginEntry(root, entry, isSuspect);
    const errors = begun.findings.filter(isError);
    const isHelpless = errors.some(({ code }) => code !== "header-damaged");
    // Without a header only the name of the folder tells whose log this is.
    const isNameless = errors.length > 0 && decodeId(entry.encodedId) === undefined;
    if (isHelpless || isNameless || begun.body === undefined) helpless.push(...errors);
    else {
      const share = (part: number) => onProgress?.((index + part) / entries.length);
      const search = { root, entry, begun, body: begun.body, onProgress: share, signal };
      const planned = await planLog(search, patience);
      if (planned.kind === "helpless") helpless.push(planned.finding);
      else {
        helpless.push(...planned.lasting);
        hasMoreHelpless ||= planned.isMoreLasting;
      }
      if (planned.kind === "step") steps.set(planned.step, planned.rewrite);
    }
    onProgress?.((index + 1) / entries.length);
  }
  return { steps, helpless, hasMoreHelpless };
}

type PlannedLog =
  | ({ readonly kind: "sound" } & Lasting)
  | { readonly kind: "helpless"; readonly finding: Finding }
  | ({
      readonly kind: "step";
      readonly step: SessionRepair;
      readonly rewrite: PlannedRewrite;
    } & Lasting);

type Lasting = Pick<LogCut, "lasting" | "isMoreLasting">;

/** A log of which the repair is planned. */
interface PlanSearch {
  readonly root: string;
  readonly entry: LogEntry;
  readonly begun: EntryBeginning;
  readonly body: Body;
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal | undefined;
}

async function planLog(search: PlanSearch, patience: Patience | undefined): Promise<PlannedLog> {
  const { entry, begun } = search;
  try {
    for (let look = 1; ; look += 1) {
      using file = new LogFile(entry);
      const planned = await planFile(file, search);
      if (planned.kind !== "step" || planned.step.reason.code !== "torn-tail") return planned;
      if (patience === undefined || look === LOOKS || (await isSettled(file, patience))) return planned;
    }
  } catch (error) {
    return { kind: "helpless", finding: unreadable(error, { path: entry.path, sessionId: begun.id }) };
  }
}

async function planFile(
  file: LogFile,
  { root, entry, begun, body, onProgress, signal }: PlanSearch,
): Promise<PlannedLog> {
  const { id, findings, headerText } = begun;
  const isMade = begun.header === undefined;
  const found = await findCut(file, id, body, (offset) => onProgress(offset / file.size), signal);
  const reason = findings.find(({ code }) => code === "header-damaged") ?? found.reason;
  const { lasting, isMoreLasting } = found;
  if (reason === undefined) return { kind: "sound", lasting, isMoreLasting };
  const cut = { ...found, reason };
  const isWritten = isMade || body.lead.length > 0;
  const headerPieces = isMade ? piecesOfHeader(file, body) : [];
  const source = {
    root,
    id,
    project: entry.key[0],
    ...(cut.firstTime === undefined ? {} : { firstTime: cut.firstTime }),
  };
  const written = isMade ? remakeHeader(file, begun, source) : headerText;
  const rewrite: Rewrite = {
    cut,
    from: isWritten ? body.offset : 0,
    headerPieces,
    ...(isWritten && written !== undefined ? { headerText: written } : {}),
  };
  const cutOff = await countCut(file, rewrite, signal);
  const { path, ...made } = await repairNames(entry.path, (names) =>
    isQuarantineOf(file, id, rewrite, names),
  );
  const step: SessionRepair = {
    kind: "session",
    id,
    location: entry.path,
    reason,
    keptEvents: cut.events,
    cut: { ...cutOff, rows: 0 },
    closers: cut.closers.reduce((sum, { count }) => sum + count, 0),
    header: isMade ? "made" : "kept",
    ...made,
  };
  const planned = { entry, revision: file.revision, rewrite, names: { path, ...made } };
  return { kind: "step", lasting, isMoreLasting, step, rewrite: planned };
}

/** What is left of a damaged header. */
function piecesOfHeader(file: LogFile, body: Body): RestPiece[] {
  using head = new LogFile(file, body.offset);
  const pieces = [...restOf(head, { offset: 0, row: 1, skip: 0 })].filter((piece) => piece.kind !== "pause");
  // The other lines of its frame are records.
  return body.lead.length > 0 ? pieces.slice(0, 1) : pieces;
}

async function countCut(
  file: LogFile,
  { cut, headerPieces }: Rewrite,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: number; readonly events: number }> {
  const count = { bytes: 0, events: 0 };
  const add = (piece: RestPiece) => {
    if (piece.kind === "bytes") count.bytes += piece.end - piece.offset;
    else if (piece.isNew) count.bytes += piece.length;
    if (piece.kind === "line") count.events += piece.record?.record.count ?? 0;
  };
  headerPieces.forEach(add);
  const breather = new Breather();
  for (const piece of restOf(file, cut.rest)) {
    if (piece.kind !== "pause") add(piece);
    else if (breather.isDue(piece.bytes)) {
      await breathe();
      signal?.throwIfAborted();
    }
  }
  return count;
}

function open(entry: LogEntry, sessionId: string): LogFile {
  try {
    return new LogFile(entry);
  } catch (error) {
    throw toLogError(error, "The log could not be opened", entry.path, sessionId);
  }
}

import { storeAndId } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { HoldfastError, NotFoundError, StoreNotFoundError } from "../../../store/errors.ts";
import { openStoreReadOnly } from "../../../store/open-store.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { pause, watchSession } from "../../../store/session-watch.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { EXIT } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { LocalTimes } from "../../local-time.ts";
import { type Output, printing } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { StopSignals } from "../../stop-signals.ts";
import { AmbiguousIdError, resolveSessionId } from "../session-id.ts";
import { OPEN } from "../show/read-shown.ts";
import { outputStyle, TranscriptStyle } from "../show/transcript-style.ts";
import { TranscriptView } from "../show/transcript-view.ts";
import { LogCutError, LogTail, type TailForm, type TailItem } from "./log-tail.ts";

/** How often it is looked for a session that is not there yet. */
const SEARCH_MS = 200;
/** A read beside a writer that comes, goes or repairs may fail; one that fails so often in a row is not made again. */
const MOST_FAILURES = 10;
const MOST_ITEMS = 100_000;
const DEFAULT_ITEMS = "10";

export interface TailOptions {
  readonly follow: boolean;
  /** How many; as it was given. */
  readonly count: string | undefined;
  readonly form: "text" | "json" | "events";
  /** Whether nothing is shortened. */
  readonly full: boolean;
}

const FORMS: Readonly<Record<TailOptions["form"], TailForm>> = {
  text: "transcript",
  json: "entries",
  events: "events",
};

/** `holdfast sessions tail`: the last entries or events of a session, then with `follow` what is committed to it. */
export async function tail(
  raw: RawOptions,
  argument: string | undefined,
  session: string,
  options: TailOptions,
): Promise<number> {
  const { name, id: given } = storeAndId(raw, session, argument);
  const count = countOf(options.count ?? DEFAULT_ITEMS);
  using stop = new StopSignals();
  const code = await printing((output) =>
    run(name, given, { ...options, count }, { output, signal: stop.signal }),
  );
  return stop.code ?? code;
}

interface Context {
  readonly output: Output;
  readonly signal: AbortSignal;
}

async function run(
  name: StoreName,
  given: string,
  { follow, count, form, full }: Omit<TailOptions, "count"> & { readonly count: number },
  { output, signal }: Context,
): Promise<number> {
  const opened = await openWith(name, given, follow, signal);
  if (opened === undefined) return EXIT.ok;
  const { id } = opened;
  await using source = new Source(name, opened.store);
  const style = new TranscriptStyle(outputStyle(process.env, process.stdout));
  const view = new TranscriptView(style, new LocalTimes(), full ? "full" : { namesFlag: true });
  const print = async (items: readonly TailItem[]) => {
    for (const item of items) await output.write(itemText(item, form, view));
    await output.flush();
  };
  // Before the first read, so that no change is missed.
  using watch = follow ? await watchSession(name, id) : undefined;
  const log = new LogTail(source, id, FORMS[form]);
  // Of a session that was waited for, everything is new.
  if (!opened.isNew) {
    for await (const items of log.last(count)) {
      await print(items);
      if (signal.aborted) return EXIT.ok;
    }
  }
  if (watch === undefined) {
    const answer = form === "text" && count > 0 ? log.openAnswer : undefined;
    if (answer !== undefined) await output.write(view.open(answer));
    await output.flush();
    if (form !== "events" && log.isOpen) process.stderr.write(`holdfast: ${OPEN}\n`);
    return EXIT.ok;
  }
  // Whoever follows is told the title and the model, too, as they come.
  view.known({});
  let failures = 0;
  let { place } = watch;
  while (!signal.aborted) {
    try {
      if (watch.place !== place) {
        const next = watch.place;
        await source.reopen();
        place = next;
      }
      for await (const added of log.added()) {
        await print(added);
        if (signal.aborted) return EXIT.ok;
      }
      failures = 0;
      await watch.change(signal);
    } catch (error) {
      failures += 1;
      const isFinal = !(error instanceof HoldfastError) || error instanceof LogCutError;
      if (isFinal || failures >= MOST_FAILURES)
        throw error instanceof NotFoundError ? new NotFoundError(id, name.path) : error;
      await pause(SEARCH_MS, signal);
    }
  }
  return EXIT.ok;
}

/** The store that is read. */
class Source implements AsyncDisposable {
  readonly #name: StoreName;
  store: SessionPersistence;

  constructor(name: StoreName, store: SessionPersistence) {
    this.#name = name;
    this.store = store;
  }

  /**
   * A database under which Hosts come and go is opened anew: one connection would in the end read with locks, and leave
   * files behind. Logs need it not, and lose what is known of where events lie in them.
   */
  async reopen(): Promise<void> {
    if (this.#name.kind !== "sqlite") return;
    const old = this.store;
    this.store = await openStoreReadOnly(this.#name, { clock: Date.now });
    await old.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }
}

interface Opened {
  readonly store: SessionPersistence;
  readonly id: string;
  /** Whether it was waited for. */
  readonly isNew: boolean;
}

/** The store with the session in it; with `follow` when it is there, or nothing where the signal came before. */
async function openWith(
  name: StoreName,
  given: string,
  follow: boolean,
  signal: AbortSignal,
): Promise<Opened | undefined> {
  let isTold = false;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await using resources = new AsyncDisposableStack();
      const store = resources.use(await openStoreReadOnly(name, { clock: Date.now }));
      // What is waited for is named whole: looking through all ids again and again would cost too much.
      const id = isTold ? given : await resolveSessionId(store, given, name);
      await store.readFrom(id, 0, { limit: 1 });
      resources.move();
      return { store, id, isNew: isTold };
    } catch (error) {
      const isMissing = error instanceof NotFoundError || error instanceof StoreNotFoundError;
      if (!isMissing) failures += 1;
      // One that is just being made may be no store yet.
      const isOther = !(error instanceof HoldfastError) || error instanceof AmbiguousIdError;
      const mayCome = isMissing || (!isOther && failures < MOST_FAILURES);
      if (!mayCome || !follow) throw error;
      if (isMissing && !isTold) {
        const place = printableLine(`${JSON.stringify(given)} in ${formatStoreName(name)}`);
        process.stderr.write(`holdfast: waiting for the session ${place}\n`);
      }
      isTold ||= isMissing;
    }
    await pause(SEARCH_MS, signal);
  }
  return undefined;
}

function itemText(item: TailItem, form: TailOptions["form"], view: TranscriptView): string {
  const { event, entry } = item;
  if (form === "events") return `${jsonText(event)}\n`;
  if (form === "json") return entry === undefined ? "" : `${jsonText(entry)}\n`;
  if (item.isBefore !== true) return view.show(event, entry);
  view.pass(event);
  return "";
}

function countOf(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= MOST_ITEMS) return count;
  throw new UsageError(
    `-n cannot be ${JSON.stringify(text)}: it must be a whole number from 0 to ${MOST_ITEMS}`,
    "It says how many of the last entries are shown.",
  );
}

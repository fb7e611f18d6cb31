import { storeBehind } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { type Matcher, patternMatcher, textMatcher } from "../../../session/search/matcher.ts";
import { SPEAKERS, type Speaker } from "../../../session/search/said.ts";
import type { HoldfastError } from "../../../store/errors.ts";
import { openStoreReadOnly } from "../../../store/open-store.ts";
import { openSearch } from "../../../store/search/open-search.ts";
import { search } from "../../../store/search/search.ts";
import type { StoreName } from "../../../store/store-name.ts";
import { counted, grouped } from "../../counted.ts";
import { EXIT, reportError } from "../../exit-codes.ts";
import { parseLimit } from "../../limit.ts";
import { type Output, printing } from "../../output.ts";
import { printable } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { resolveSessionId } from "../session-id.ts";
import { hitJson, hitText, snippetStyle } from "./search-text.ts";

const HINT = "`holdfast sessions search --help` says how it is used.";
/** What was found is kept back for no longer, and how far the search is is told no more often, in milliseconds. */
const TOLD_MS = 100;
/** Who waits no longer is not told how far it is. */
const SILENT_MS = 500;

export interface SearchOptions {
  readonly regex: boolean;
  /** Names, with commas between. */
  readonly speakers: string;
  readonly caseSensitive: boolean;
  /** Ids, or beginnings of them; all sessions when there is none. */
  readonly sessions: readonly string[];
  readonly limit: string | undefined;
  readonly index: boolean;
  readonly json: boolean;
}

/** `holdfast sessions search`: every text of a store that matches, as it is found. */
export async function searchSessions(
  raw: RawOptions,
  argument: string | undefined,
  text: string,
  options: SearchOptions,
): Promise<number> {
  const matcher = matcherFor(text, options);
  const speakers = speakersIn(options.speakers);
  const limit = parseLimit(options.limit, "It says after how many hits the search stops.");
  const name = storeBehind(raw, text, argument, "text");
  // An expression may never come back, and a signal that is listened to would wait for it: then one ends the process.
  using stop = options.regex ? undefined : new StopSignals();
  const signal = stop?.signal;
  const code = await printing((output) =>
    run(name, { matcher, speakers, ...(signal === undefined ? {} : { signal }) }, options, limit, output),
  );
  return stop?.code ?? code;
}

interface Query {
  readonly matcher: Matcher;
  readonly speakers: ReadonlySet<Speaker>;
  readonly signal?: AbortSignal;
}

async function run(
  name: StoreName,
  query: Query,
  { sessions, index: isIndexed, json }: SearchOptions,
  limit: number,
  output: Output,
): Promise<number> {
  const ids = await resolveAll(name, sessions);
  const { needle } = query.matcher;
  await using store = await openSearch(name, { needle, isIndexed });
  using progress = new Progress({ silentMs: SILENT_MS });
  const counts = new Counts();
  const pace = new Pace();
  const style = snippetStyle();
  let problem: HoldfastError | undefined;
  for await (const step of search(store, { ...query, ...(ids === undefined ? {} : { ids }) })) {
    if (step.kind === "hit") {
      counts.hit(step.sessionId);
      progress.clear();
      await output.write(json ? hitJson(step) : hitText(step, style));
    } else if (step.kind === "session") counts.session(step.error);
    else if (step.kind === "no-index") problem = step.error;
    if (counts.hits >= limit) break;
    if (!pace.isDue()) continue;
    await output.flush();
    if (step.kind === "progress")
      progress.show(
        `session ${grouped(counts.sessions + 1)}, ${counted(step.seq, "event")}: ${step.sessionId}`,
      );
  }
  progress.clear();
  await output.flush();
  let code: number | undefined;
  for (const error of counts.errors) {
    const own = reportError(error);
    code ??= own;
  }
  if (problem !== undefined)
    process.stderr.write(`holdfast: the index was not brought up to date: ${printable(problem.explain())}\n`);
  const isEnd = query.signal?.aborted !== true && counts.hits < limit;
  const rest = isEnd ? `, of ${grouped(counts.sessions)} searched` : "; stopped before the end";
  process.stderr.write(`holdfast: ${counts.text()}${rest}\n`);
  return code ?? (counts.hits > 0 ? EXIT.ok : EXIT.failure);
}

/** The whole ids; nothing where all sessions are meant. @throws NotFoundError, AmbiguousIdError */
async function resolveAll(name: StoreName, given: readonly string[]): Promise<string[] | undefined> {
  if (given.length === 0) return undefined;
  await using store = await openStoreReadOnly(name, { clock: Date.now });
  const ids: string[] = [];
  for (const id of given) ids.push(await resolveSessionId(store, id, name));
  return ids;
}

class Counts {
  hits = 0;
  sessions = 0;
  readonly errors: HoldfastError[] = [];
  #withHits = 0;
  #last: string | undefined;

  hit(sessionId: string): void {
    this.hits += 1;
    if (sessionId !== this.#last) this.#withHits += 1;
    this.#last = sessionId;
  }

  session(error: HoldfastError | undefined): void {
    this.sessions += 1;
    if (error !== undefined) this.errors.push(error);
  }

  text(): string {
    return `${counted(this.hits, "hit")} in ${counted(this.#withHits, "session")}`;
  }
}

/** Says when it is time to hand over what was found. */
class Pace {
  #last = Number.NEGATIVE_INFINITY;

  isDue(): boolean {
    const now = performance.now();
    if (now - this.#last < TOLD_MS) return false;
    this.#last = now;
    return true;
  }
}

function matcherFor(text: string, { regex, caseSensitive }: SearchOptions): Matcher {
  if (text === "") throw new UsageError("There is no text to search for", HINT);
  if (!regex) return textMatcher(text, caseSensitive);
  try {
    return patternMatcher(text, caseSensitive);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(
      `${JSON.stringify(text)} is no regular expression: ${error.message}`,
      "Without --regex it is searched for as it is.",
    );
  }
}

function speakersIn(names: string): ReadonlySet<Speaker> {
  const found = new Set<Speaker>();
  for (const name of names.split(",")) {
    const speaker = SPEAKERS.find((known) => known === name.trim());
    if (speaker === undefined) {
      throw new UsageError(
        `--in cannot be ${JSON.stringify(names)}: there is no ${JSON.stringify(name.trim())}`,
        `There are ${SPEAKERS.join(", ")}; put commas between several.`,
      );
    }
    found.add(speaker);
  }
  return found;
}

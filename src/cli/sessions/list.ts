import { chosenStore } from "../../host/store-options.ts";
import type { RawOptions } from "../../host/usage.ts";
import { formatPlace } from "../../session/errors.ts";
import type { SessionHeader } from "../../session/header.ts";
import type { SessionProblem } from "../../store/backend.ts";
import { HoldfastError, NotFoundError } from "../../store/errors.ts";
import { openStoreReadOnly } from "../../store/open-store.ts";
import type { SessionPersistence, SessionSummary } from "../../store/persistence.ts";
import { toProblem } from "../../store/reading.ts";
import { formatStoreName } from "../../store/store-name.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { printing } from "../output.ts";
import { printableLine } from "../printable.ts";
import { SessionTable } from "./table.ts";

/** A root of log files is looked through for each page. */
const PAGE = 2_500;

export interface ListOptions {
  readonly json: boolean;
  /** Read every session whole. */
  readonly check: boolean;
}

/** A session as `--json` prints it. Source: docs/cli.md. */
export interface ListedSession {
  readonly id: string;
  readonly state: "ok" | SessionProblem["state"];
  readonly reason?: string;
  readonly location?: string;
  /** Events that can be read, and whether the end of the log is damaged or incomplete: with `--check` only. */
  readonly events?: number;
  readonly torn?: boolean;
  readonly header?: SessionHeader;
}

/** `holdfast sessions list`: every session of a store, also the broken ones, page by page. */
export function list(raw: RawOptions, argument: string | undefined, options: ListOptions): Promise<number> {
  const name = chosenStore(raw, argument);
  return printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const table = new SessionTable(options.check);
    let count = 0;
    let code: number = EXIT.ok;
    let cursor: string | undefined;
    do {
      const page = await store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      const listed = options.check
        ? await checkAll(store, page.items)
        : page.items.map((item) => listing(item));
      if (options.json) for (const session of listed) await output.write(`${jsonText(session)}\n`);
      else if (listed.length > 0) await output.write(table.format(listed));
      await output.flush();
      count += listed.length;
      if (options.check && listed.some(({ state }) => state === "corrupt")) code = EXIT.corrupt;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    if (count === 0) process.stderr.write(`There is no session in ${printableLine(formatStoreName(name))}\n`);
    return code;
  });
}

function listing(
  { id, header, location, problem }: SessionSummary,
  read: Pick<ListedSession, "events" | "torn"> = {},
): ListedSession {
  return {
    id,
    state: problem?.state ?? "ok",
    ...(problem === undefined ? {} : { reason: problem.reason }),
    ...(location === undefined ? {} : { location }),
    ...read,
    ...(header === undefined ? {} : { header }),
  };
}

async function checkAll(
  store: SessionPersistence,
  items: readonly SessionSummary[],
): Promise<ListedSession[]> {
  const listed: ListedSession[] = [];
  for (const item of items) {
    // What is known to be broken cannot be read by its id.
    const session = item.problem === undefined ? await check(store, item) : listing(item);
    if (session !== undefined) listed.push(session);
  }
  return listed;
}

/** Reads a session to its end. Nothing where it was deleted meanwhile. */
async function check(store: SessionPersistence, summary: SessionSummary): Promise<ListedSession | undefined> {
  let events = 0;
  let unknown: SessionProblem | undefined;
  try {
    const stream = await store.stream(summary.id);
    for await (const page of stream.pages) {
      for (const { record, unknownType } of page) {
        events += record.count;
        if (unknownType) unknown ??= unknownTypeProblem(record);
      }
    }
    const problem = unknown === undefined ? {} : { problem: unknown };
    return listing({ ...summary, ...problem }, { events, torn: stream.torn() });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    if (!(error instanceof HoldfastError)) throw error;
    const { state, reason } = toProblem(error);
    const where = formatPlace(error.place);
    const problem = { state, reason: where === "" ? reason : `${reason} (${where})` };
    return listing({ ...summary, problem }, { events });
  }
}

function unknownTypeProblem({ type, seq }: { readonly type: string; readonly seq: number }): SessionProblem {
  const reason = `The log holds an event of the unknown type ${JSON.stringify(type)} (seq ${seq})`;
  return { state: "unsupported", reason };
}

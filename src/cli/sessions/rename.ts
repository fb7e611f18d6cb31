import { assertNoStore, isStore, storeAndId } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import { appendClosed } from "../../store/append-closed.ts";
import { TORN_END } from "../../store/finding.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { openIdle, storedId } from "./stored-id.ts";

/** Titles are given to idle stores only. */
const WAIT = "or wait for it: a Host takes no title over HTTP";
/** Longest title, in characters: code points, not UTF-16 units. */
const MAX_TITLE = 500;

/** `holdfast sessions rename`: appends a title. What a model is told does not change. */
export function rename(
  raw: RawOptions,
  argument: string | undefined,
  session: string,
  title: string,
  { json }: { readonly json: boolean },
): Promise<number> {
  const isStoreFirst = argument !== undefined && isStore(session) && !isStore(argument);
  const [named, titled, store] = isStoreFirst ? [title, argument, session] : [session, title, argument];
  if (store === undefined) assertNoStore(raw, titled, "title");
  const { name, id: given } = storeAndId(raw, named, store);
  const text = checkTitle(titled);
  return printingOn(async (output) => {
    const id = await storedId(name, given, WAIT);
    await using store = await openIdle(name, WAIT);
    using progress = new Progress();
    progress.show(`reading ${id}`);
    // As other programs write it; those that know which messages a title was made of name their seqs.
    const data = { title: text, messageSeqs: [], source: { kind: "user" } };
    const draft = { type: "session/title" as const, data };
    const { seq, closers, torn } = await appendClosed(store, id, draft, Date.now());
    progress.clear();
    const closed = closers === 0 ? "" : `, after ${closers} that close its last Turn`;
    const line = `renamed ${id}: ${text} (event ${seq}${closed})`;
    await output.write(`${json ? jsonText({ id, title: text, seq, closers, torn }) : printableLine(line)}\n`);
    if (torn) process.stderr.write(`holdfast: the ${TORN_END}; that piece was set aside\n`);
    return EXIT.ok;
  });
}

function checkTitle(title: string): string {
  const text = title.trim();
  const hint = `It is one line with 1 to ${MAX_TITLE} characters.`;
  if (text === "") throw new UsageError("The title is empty", hint);
  const { length } = [...text];
  if (length > MAX_TITLE) throw new UsageError(`The title has ${length} characters`, hint);
  if (/\p{Cc}|[\u2028\u2029]/u.test(text))
    throw new UsageError("The title holds a line end or another control character", hint);
  return text;
}

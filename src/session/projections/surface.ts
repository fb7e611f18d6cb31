import { isEvent, isMessageType, type MessageType, type SessionEvent } from "../events.ts";

/** One message on the surface. */
interface SurfaceEntry {
  readonly seq: number;
  readonly type: MessageType;
  /** Call ids: those an assistant message asks for, or the one a tool result answers. */
  readonly calls: readonly string[];
}

/**
 * The ordered list of message-bearing events that the model sees. `append` adds at the end; a replacement stands in
 * for an inclusive range of what is on the surface now (compaction).
 */
export class Surface {
  #entries: SurfaceEntry[];

  constructor(entries: readonly SurfaceEntry[] = []) {
    this.#entries = [...entries];
  }

  /** Seqs of the messages, in the order the model sees them. */
  get seqs(): readonly number[] {
    return this.#entries.map(({ seq }) => seq);
  }

  clone(): Surface {
    return new Surface(this.#entries);
  }

  /** Why this event's `surfaceOp` does not fit the surface as it is now; nothing when it does. */
  findFault(event: SessionEvent): string | undefined {
    const range = this.#replaced(event);
    if (range === undefined) return undefined;
    if (typeof range === "string") return range;
    const shadowed = this.#entries.slice(range.from, range.to);
    const cited = new Set(event.sourceEventSeqs ?? []);
    const uncited = shadowed.find(({ seq }) => !cited.has(seq));
    if (uncited !== undefined)
      return `a replacement that cites every event it shadows, but not seq ${uncited.seq}`;
    if (event.type !== "tool/result") return undefined;
    const [only, ...others] = shadowed;
    const sameCall = only?.calls[0] === toEntry(event)?.calls[0];
    if (others.length === 0 && only?.type === "tool/result" && sameCall) return undefined;
    return "a tool/result that replaces something other than one result of the same call";
  }

  /**
   * Why a replacement would leave a tool call without its result, or a result without its call. A rule for what is
   * written; logs of other writers are read as they are.
   */
  findSplitPair(event: SessionEvent): string | undefined {
    const range = this.#replaced(event);
    if (range === undefined || typeof range === "string") return undefined;
    const replacement = toEntry(event);
    const kept = [...this.#entries.slice(0, range.from), ...this.#entries.slice(range.to)];
    const after = replacement === undefined ? kept : [...kept, replacement];
    const calls = callIds(after, "assistant/message");
    const results = callIds(after, "tool/result");
    for (const { type, calls: ids } of this.#entries.slice(range.from, range.to)) {
      for (const id of ids) {
        if (type === "tool/result" && calls.has(id) && !results.has(id))
          return `a call ${id} without its result`;
        if (type === "assistant/message" && results.has(id) && !calls.has(id))
          return `a result ${id} without its call`;
      }
    }
    return undefined;
  }

  /** Applies an event whose `surfaceOp` fits. */
  fold(event: SessionEvent): void {
    const entry = toEntry(event);
    if (entry === undefined) return;
    const range = this.#replaced(event);
    if (range === undefined) this.#entries.push(entry);
    else if (typeof range !== "string") this.#entries.splice(range.from, range.to - range.from, entry);
  }

  /** Positions that a replacement covers, a fault, or nothing when the event is no replacement. */
  #replaced(event: SessionEvent): { readonly from: number; readonly to: number } | string | undefined {
    const op = event.surfaceOp;
    if (op === undefined || op === "append") return undefined;
    const from = this.#entries.findIndex(({ seq }) => seq === op.start);
    const to = this.#entries.findIndex(({ seq }) => seq === op.end);
    if (from < 0) return `a replacement from seq ${op.start}, which is not on the surface`;
    if (to < 0) return `a replacement up to seq ${op.end}, which is not on the surface`;
    if (to < from) return `a replacement whose end ${op.end} stands before its start ${op.start}`;
    return { from, to: to + 1 };
  }
}

function callIds(entries: readonly SurfaceEntry[], type: MessageType): Set<string> {
  return new Set(entries.flatMap((entry) => (entry.type === type ? entry.calls : [])));
}

function toEntry(event: SessionEvent): SurfaceEntry | undefined {
  const { seq, type } = event;
  if (!isMessageType(type)) return undefined;
  if (isEvent(event, "tool/result")) return { seq, type, calls: [event.data.message.source.callId] };
  if (!isEvent(event, "assistant/message")) return { seq, type, calls: [] };
  const calls = event.data.message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
  return { seq, type, calls };
}

import type { SessionRecord } from "../session/records.ts";
import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";
import { errorFromWire, errorToWire, type WireError } from "./error-wire.ts";
import type { Encoding } from "./jsonl/layout.ts";
import type { BackendWriter } from "./writer.ts";

/*
 * What the main thread and the storage thread say to each other. One string a message: cloning many small objects costs
 * eight times as much. Both ends are this program, built from these types, so that a message is not checked again.
 */

/** Which writer the thread opens. */
export type WriterSpec =
  | { readonly kind: "sqlite"; readonly path: string; readonly leastQuoted: number }
  | { readonly kind: "jsonl"; readonly root: string; readonly encoding: Encoding };

/** The first message to a storage thread: where its requests come from, and what wakes it. */
export interface ThreadStart {
  readonly port: MessagePort;
  /** Raised with each request. */
  readonly counter: Int32Array;
  readonly kind: WriterSpec["kind"];
}

export type Call =
  | { readonly method: "open"; readonly spec: WriterSpec }
  | { readonly method: "appendBatch"; readonly batches: readonly AppendBatch[] }
  | { readonly method: "commitRepair"; readonly id: string; readonly repair: Repair }
  | { readonly method: "delete"; readonly id: string }
  | { readonly method: "settle"; readonly id: string }
  | { readonly method: "checkWritable" }
  | { readonly method: "close" };

export interface Request {
  readonly number: number;
  readonly call: Call;
}

/** Stands between record texts: no JSON text holds it, since strings must escape it. */
const SEPARATOR = "\0";

/** An append without its texts, as one flat list: number, then for each batch id, header, seq, and its records' spans. */
type Head = Array<string | number | null>;
/** Members of a batch before its spans, and of one span. */
const BATCH_MEMBERS = 4;
const SPAN_MEMBERS = 4;

/** A request as one string: JSON, then the texts of an append's records as they are, which spares escaping them. */
export function encodeRequest({ number, call }: Request): string {
  if (call.method !== "appendBatch") return JSON.stringify({ number, call });
  const head: Head = [number];
  const parts = [""];
  for (const { id, header, expectedSeq, records } of call.batches) {
    head.push(id, header ?? null, expectedSeq, records.length);
    for (const { seq, count, type, time, text } of records) {
      head.push(seq, count, type, time);
      parts.push(text);
    }
  }
  parts[0] = JSON.stringify(head);
  return parts.join(SEPARATOR);
}

export function decodeRequest(message: string): Request {
  const [head = "", ...texts] = message.split(SEPARATOR);
  const request: Request | Head = JSON.parse(head);
  if (!Array.isArray(request)) return request;
  const batches: AppendBatch[] = [];
  let text = 0;
  for (let at = 1; at < request.length; ) {
    const [id, header, expectedSeq, count] = request.slice(at, at + BATCH_MEMBERS);
    at += BATCH_MEMBERS;
    const records: SessionRecord[] = [];
    for (let k = 0; k < Number(count); k += 1, at += SPAN_MEMBERS, text += 1) {
      records.push({
        seq: Number(request[at]),
        count: Number(request[at + 1]),
        type: String(request[at + 2]),
        time: Number(request[at + 3]),
        text: texts[text] ?? "",
      });
    }
    const batch = { id: String(id), expectedSeq: Number(expectedSeq), records };
    batches.push(typeof header === "string" ? { ...batch, header } : batch);
  }
  return { number: Number(request[0]), call: { method: "appendBatch", batches } };
}

/** What a call gives back. */
export type Result = readonly WireOutcome[] | Revision | boolean | null;
type WireOutcome =
  | { readonly ok: true; readonly revision: Revision }
  | { readonly ok: false; readonly error: WireError };

export type Reply =
  | { readonly number: number; readonly result: Result }
  | { readonly number: number; readonly error: WireError };

/** A reply as one string. An append where all went well is its revisions, a line each, after the number. */
export function encodeReply(reply: Reply): string {
  if ("error" in reply || !Array.isArray(reply.result)) return JSON.stringify(reply);
  const lines = [String(reply.number)];
  for (const outcome of reply.result) {
    if (!outcome.ok) return JSON.stringify(reply);
    lines.push(outcome.revision);
  }
  return lines.join("\n");
}

export function decodeReply(message: string): Reply {
  if (message.startsWith("{")) return JSON.parse(message);
  const [number, ...revisions] = message.split("\n");
  return { number: Number(number), result: revisions.map((revision) => ({ ok: true, revision })) };
}

/** The outcomes of `appendBatch`, with typed errors again. */
export function toOutcomes(result: Result): readonly AppendOutcome[] {
  if (!Array.isArray(result)) throw new TypeError("appendBatch gives outcomes");
  return result.map((outcome: WireOutcome) =>
    outcome.ok ? outcome : { ok: false, error: errorFromWire(outcome.error) },
  );
}

/** Runs one call on an open writer and returns what crosses the thread boundary. */
export function perform(writer: BackendWriter, call: Exclude<Call, { method: "open" }>): Result {
  switch (call.method) {
    case "appendBatch":
      return writer
        .appendBatch(call.batches)
        .map((outcome) => (outcome.ok ? outcome : { ok: false, error: errorToWire(outcome.error) }));
    case "commitRepair":
      return writer.commitRepair(call.id, call.repair);
    case "delete":
      return writer.delete(call.id);
    case "settle":
      writer.settle?.(call.id);
      return null;
    case "checkWritable":
      writer.checkWritable();
      return null;
    case "close":
      writer.close();
      return null;
  }
}

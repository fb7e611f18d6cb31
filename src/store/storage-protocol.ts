import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";
import { errorFromWire, errorToWire, type WireError } from "./error-wire.ts";
import type { BackendWriter } from "./writer.ts";

/*
 * What the main thread and the storage thread say to each other. One string a message: cloning many small objects costs
 * eight times as much. Both ends are this program, built from these types, so that a message is not checked again.
 */

/** Which writer the thread opens. */
export interface WriterSpec {
  readonly kind: "sqlite";
  readonly path: string;
}

export type Call =
  | { readonly method: "open"; readonly spec: WriterSpec }
  | { readonly method: "appendBatch"; readonly batches: readonly AppendBatch[] }
  | { readonly method: "commitRepair"; readonly id: string; readonly repair: Repair }
  | { readonly method: "delete"; readonly id: string }
  | { readonly method: "checkWritable" }
  | { readonly method: "close" };

export interface Request {
  readonly number: number;
  readonly call: Call;
}

/** Stands between record texts: no JSON text holds it, since strings must escape it. */
const SEPARATOR = "\0";

type Span = readonly [seq: number, count: number, type: string, time: number];
type TextlessBatch = Omit<AppendBatch, "records"> & { readonly spans: readonly Span[] };

/** A request as one string: JSON, then the texts of an append's records as they are, which spares escaping them. */
export function encodeRequest({ number, call }: Request): string {
  if (call.method !== "appendBatch") return JSON.stringify({ number, call });
  const texts: string[] = [];
  const batches = call.batches.map(({ records, ...batch }): TextlessBatch => {
    const spans = records.map(({ seq, count, type, time, text }): Span => {
      texts.push(text);
      return [seq, count, type, time];
    });
    return { ...batch, spans };
  });
  return [JSON.stringify({ number, batches }), ...texts].join(SEPARATOR);
}

export function decodeRequest(message: string): Request {
  const [head = "", ...texts] = message.split(SEPARATOR);
  const request: Request | { readonly number: number; readonly batches: readonly TextlessBatch[] } =
    JSON.parse(head);
  if ("call" in request) return request;
  let next = 0;
  const batches = request.batches.map(({ spans, ...batch }) => ({
    ...batch,
    records: spans.map(([seq, count, type, time]) => ({ seq, count, type, time, text: texts[next++] ?? "" })),
  }));
  return { number: request.number, call: { method: "appendBatch", batches } };
}

/** What a call gives back. */
export type Result = readonly WireOutcome[] | Revision | boolean | null;
type WireOutcome =
  | { readonly ok: true; readonly revision: Revision }
  | { readonly ok: false; readonly error: WireError };

export type Reply =
  | { readonly number: number; readonly result: Result }
  | { readonly number: number; readonly error: WireError };

export function parseReply(text: string): Reply {
  return JSON.parse(text);
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
    case "checkWritable":
      writer.checkWritable();
      return null;
    case "close":
      writer.close();
      return null;
  }
}

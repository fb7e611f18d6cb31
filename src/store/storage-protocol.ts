import { z } from "zod";
import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";
import { errorFromWire, errorToWire, wireErrorSchema } from "./error-wire.ts";
import type { BackendWriter } from "./writer.ts";

/*
 * What the main thread and the storage thread say to each other. One JSON string a message: cloning many small objects
 * costs eight times as much.
 */

/** Which writer the thread opens. */
export const writerSpecSchema = z.object({ kind: z.literal("sqlite"), path: z.string() });
export type WriterSpec = z.infer<typeof writerSpecSchema>;

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

const replySchema = z.object({
  number: z.number(),
  result: z.unknown(),
  error: wireErrorSchema.exactOptional(),
});
export type Reply = z.infer<typeof replySchema>;

export function parseReply(text: unknown): Reply {
  return replySchema.parse(JSON.parse(z.string().parse(text)));
}

const outcomesSchema = z.array(
  z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), revision: z.string() }),
    z.object({ ok: z.literal(false), error: wireErrorSchema }),
  ]),
);

export function parseOutcomes(result: unknown): readonly AppendOutcome[] {
  return outcomesSchema
    .parse(result)
    .map((outcome) => (outcome.ok ? outcome : { ok: false, error: errorFromWire(outcome.error) }));
}

export function parseRevision(result: unknown): Revision {
  return z.string().parse(result);
}

/** Runs one call on an open writer and returns what crosses the thread boundary. */
export function perform(writer: BackendWriter, call: Exclude<Call, { method: "open" }>): unknown {
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
      return writer.checkWritable();
    case "close":
      return writer.close();
  }
}

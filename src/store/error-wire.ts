import { z } from "zod";
import {
  AlreadyExistsError,
  ClosedError,
  CorruptError,
  HoldfastError,
  NotFoundError,
  SequenceConflictError,
  StorageFailedError,
  StorageFullError,
  UnsupportedFormatError,
} from "./errors.ts";

/* How typed errors cross from the storage thread to the main thread. */

const placeSchema = z.object({
  path: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  offset: z.number().exactOptional(),
  row: z.number().exactOptional(),
  seq: z.number().exactOptional(),
  eventType: z.string().exactOptional(),
  field: z.string().exactOptional(),
});

export const wireErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string(),
  place: placeSchema,
  expected: z.string().exactOptional(),
  found: z.string().exactOptional(),
  sent: z.number().exactOptional(),
  next: z.number().exactOptional(),
});
export type WireError = z.infer<typeof wireErrorSchema>;

/** An error as plain data. What is not typed becomes a failed storage. */
export function errorToWire(error: unknown): WireError {
  const typed =
    error instanceof HoldfastError
      ? error
      : new StorageFailedError(error instanceof Error ? error.message : String(error), { cause: error });
  const { code, message, hint, place } = typed;
  const wire = { code, message, hint, place };
  if (typed instanceof CorruptError) return { ...wire, expected: typed.expected, found: typed.found };
  if (typed instanceof SequenceConflictError) return { ...wire, sent: typed.sent, next: typed.next };
  return wire;
}

/** The typed error again, with the same code, message, place and hint. */
export function errorFromWire(wire: WireError): HoldfastError {
  const { place, hint, message } = wire;
  switch (wire.code) {
    case "storage-full":
      return new StorageFullError(place);
    case "sequence-conflict":
      return new SequenceConflictError(place.sessionId ?? "", wire.sent ?? 0, wire.next ?? 0);
    case "not-found":
      return new NotFoundError(place.sessionId ?? "", place.path);
    case "already-exists":
      return new AlreadyExistsError(place.sessionId ?? "");
    case "corrupt": {
      const expected = wire.expected ?? "sound data";
      const found = wire.found ?? "damage";
      const what = message.replace(`: expected ${expected}, found ${found}`, "");
      return new CorruptError(what, { expected, found, place, hint });
    }
    case "unsupported-format":
      return new UnsupportedFormatError(message, { place, hint });
    case "closed":
      return new ClosedError();
    default:
      return new StorageFailedError(message, { place, hint });
  }
}

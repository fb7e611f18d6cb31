import type { Place } from "../session/errors.ts";
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

/** A typed error as plain data. */
export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly place: Place;
  readonly what?: string;
  readonly expected?: string;
  readonly found?: string;
  readonly sent?: number;
  readonly next?: number;
}

/** An error as plain data. What is not typed becomes a failed storage. */
export function errorToWire(error: unknown): WireError {
  const typed =
    error instanceof HoldfastError
      ? error
      : new StorageFailedError(error instanceof Error ? error.message : String(error), { cause: error });
  const { code, message, hint, place } = typed;
  const wire = { code, message, hint, place };
  if (typed instanceof CorruptError) {
    return { ...wire, what: typed.what, expected: typed.expected, found: typed.found };
  }
  if (typed instanceof SequenceConflictError) return { ...wire, sent: typed.sent, next: typed.next };
  return wire;
}

/** The typed error again, with the same code, message, place and hint. */
export function errorFromWire(wire: WireError): HoldfastError {
  const { place, hint, message } = wire;
  switch (wire.code) {
    case "storage-full":
      return new StorageFullError(place, undefined, message);
    case "sequence-conflict":
      return new SequenceConflictError(place.sessionId ?? "", wire.sent ?? 0, wire.next ?? 0);
    case "not-found":
      return new NotFoundError(place.sessionId ?? "", place.path);
    case "already-exists":
      return new AlreadyExistsError(place.sessionId ?? "");
    case "corrupt": {
      const { what = message, expected = "sound data", found = "damage" } = wire;
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

/** Where something went wrong. Every part is optional; messages print the parts that are known, in this order. */
export interface Place {
  readonly path?: string;
  readonly sessionId?: string;
  /** Byte offset in the file. */
  readonly offset?: number;
  /** Number of the storage row or frame, from 1. */
  readonly row?: number;
  readonly seq?: number;
  readonly eventType?: string;
  /** Path inside the event, as in `data.message.content[2]`. */
  readonly field?: string;
}

const PLACE_LABELS: ReadonlyArray<readonly [keyof Place, string]> = [
  ["path", "file"],
  ["sessionId", "session"],
  ["offset", "byte"],
  ["row", "row"],
  ["seq", "seq"],
  ["eventType", "event"],
  ["field", "at"],
];

/** Renders a place for a person: `file /x.db, session default, seq 7`. Empty when nothing is known. */
export function formatPlace(place: Place): string {
  const parts: string[] = [];
  for (const [key, label] of PLACE_LABELS) {
    const value = place[key];
    if (value !== undefined) parts.push(`${label} ${value}`);
  }
  return parts.join(", ");
}

/**
 * Base of every error that Holdfast raises on purpose.
 *
 * `code` is stable and is what programs match on; `message` says what happened; `place` says where; `hint` says
 * what to do next. None of them ever carries a secret.
 */
export abstract class HoldfastError extends Error {
  abstract readonly code: string;
  readonly place: Place;
  readonly hint: string;

  constructor(message: string, options: { place?: Place; hint: string; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.place = options.place ?? {};
    this.hint = options.hint;
  }

  /** The whole story in at most three lines, for stderr. */
  explain(): string {
    const where = formatPlace(this.place);
    return `${this.message}${where === "" ? "" : `\n  where: ${where}`}\n  hint: ${this.hint}`;
  }
}

/** A value that JSON cannot hold without loss. Nothing was written. */
export class NotSerialisableError extends HoldfastError {
  readonly code = "not-serialisable";

  constructor(message: string, place: Place) {
    super(message, {
      place,
      hint: "Pass plain JSON: finite numbers, strings, booleans, null, arrays and plain objects without cycles.",
    });
  }
}

const CORRUPT_HINT =
  "The store was left as it is. `holdfast sessions verify` says what is damaged; `sessions repair` and `sessions salvage` keep what is sound.";

/** Stored bytes that break the format. Carries what the rule expected and what was found. */
export class CorruptError extends HoldfastError {
  readonly code = "corrupt";
  /** What is wrong, without what was expected and found. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;

  constructor(
    what: string,
    details: { expected: string; found: string; place?: Place; hint?: string; cause?: unknown },
  ) {
    super(`${what}: expected ${details.expected}, found ${details.found}`, {
      hint: details.hint ?? CORRUPT_HINT,
      ...(details.place === undefined ? {} : { place: details.place }),
      ...(details.cause === undefined ? {} : { cause: details.cause }),
    });
    this.what = what;
    this.expected = details.expected;
    this.found = details.found;
  }

  /** The same finding with more of its place known. Parts that the finding already has win. */
  at(place: Place): CorruptError {
    return new CorruptError(this.what, {
      expected: this.expected,
      found: this.found,
      place: { ...place, ...this.place },
      hint: this.hint,
      cause: this.cause,
    });
  }
}

/** A format or event type that this version cannot resume. The data is kept and stays readable for inspection. */
export class UnsupportedFormatError extends HoldfastError {
  readonly code = "unsupported-format";

  constructor(message: string, options: { place?: Place; hint: string }) {
    super(message, options);
  }
}

/** An event that breaks a rule of the log before anything was written: the caller's mistake, not damage. */
export class InvalidEventError extends HoldfastError {
  readonly code = "invalid-event";

  constructor(message: string, place: Place) {
    super(message, { place, hint: "Nothing was written. Correct the event and append it again." });
  }
}

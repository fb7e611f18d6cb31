import { LogAudit } from "../session/audit/index.ts";
import type { DecodedRecord } from "../session/records.ts";
import type { CopySource } from "./copy.ts";
import { CorruptError, HoldfastError, StorageFailedError, UnsupportedFormatError } from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import { type Finding, isError } from "./finding.ts";

/**
 * A session that lies somewhere, as a source to copy from: it reads like one of a store, and is refused at the first
 * damage, a torn end among it. Nobody says of a file when it was cut short.
 */
export function examinedSource(session: ExaminedSession): CopySource {
  return {
    stream: async () => {
      const finding = session.findings.find(isError);
      if (finding !== undefined) throw toError(finding, session);
      const { header, headerText } = session;
      if (header === undefined || headerText === undefined) throw headless(session);
      return { header, headerText, pages: pagesOf(session), torn: () => false };
    },
  };
}

/** @throws CorruptError at what an ordinary reader would not get past */
async function* pagesOf(session: ExaminedSession): AsyncGenerator<readonly DecodedRecord[]> {
  const audit = new LogAudit();
  for await (const item of session.items()) {
    if (item.kind === "damage") throw toError(item.finding, session);
    for (const [k, decoded] of item.records.entries()) {
      const [fault] = audit.take(decoded, () => item.placeOf(k));
      if (fault !== undefined && !audit.isReadable) throw toError(fault, session);
    }
    yield item.records;
  }
}

function headless({ id, location }: ExaminedSession): CorruptError {
  return new CorruptError("It has no header", {
    expected: "a session header as its first line",
    found: "something else",
    place: { path: location, sessionId: id },
  });
}

function toError(finding: Finding, { id, location }: ExaminedSession): HoldfastError {
  const { code, message, expected = "", found = "" } = finding;
  const place = { path: location, sessionId: id, ...finding.place };
  switch (code) {
    case "unsupported-version":
      return new UnsupportedFormatError(message, { place, hint: "Read it with the program that wrote it." });
    case "unreadable":
      return new StorageFailedError(message, { place });
    default:
      return expected === "" && found === ""
        ? new DamagedError(message, { place, hint: HINT })
        : new CorruptError(message, { expected, found, place, hint: HINT });
  }
}

const HINT = "`holdfast sessions salvage` takes over what is left of it.";

/** Damage of which no more is known than its place. */
class DamagedError extends HoldfastError {
  readonly code = "corrupt";
}

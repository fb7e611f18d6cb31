import { LogAudit } from "../session/audit/index.ts";
import { RunMerger } from "../session/merge-runs.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import type { CopySource } from "./copy.ts";
import { CorruptError, HoldfastError, StorageFailedError, UnsupportedFormatError } from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import { type Finding, isError } from "./finding.ts";

/** What is said of a session's place, and not of the session. */
const OF_ITS_PLACE: ReadonlySet<string> = new Set(["duplicate", "header-misplaced"]);

/** A source to copy from, of which it is known afterwards where it ended too early. */
export interface ExaminedSource extends CopySource {
  /** Where its last piece was never fully written, or damaged since; known once a stream is exhausted. */
  readonly tail: Finding | undefined;
}

/**
 * A session that lies somewhere, as a source to copy from: it reads like one of a store, up to an end that was never
 * fully written, and is refused at the first damage. Where it lies is no matter: its header says which session it is.
 */
export function examinedSource(session: ExaminedSession): ExaminedSource {
  const ending: Ending = { tail: undefined };
  return {
    get tail() {
      return ending.tail;
    },
    stream: async () => {
      const finding = session.findings.find((found) => isError(found) && !OF_ITS_PLACE.has(found.code));
      if (finding !== undefined) throw toError(finding, session);
      const { header, headerText } = session;
      if (header === undefined || headerText === undefined) throw headless(session);
      const pages = pagesOf(session, ending);
      return { header, headerText, pages, torn: () => ending.tail !== undefined };
    },
  };
}

interface Ending {
  tail: Finding | undefined;
}

/** @throws CorruptError at what an ordinary reader would not get past */
async function* pagesOf(session: ExaminedSession, ending: Ending): AsyncGenerator<readonly DecodedRecord[]> {
  const audit = new LogAudit();
  // What was exported has each delta by itself.
  const merger = new RunMerger();
  ending.tail = undefined;
  for await (const item of session.items()) {
    if (item.kind === "damage") {
      if (item.finding.code !== "torn-tail") throw toError(item.finding, session);
      // It is the last item.
      ending.tail = item.finding;
      break;
    }
    for (const [k, decoded] of item.records.entries()) {
      const [fault] = audit.take(decoded, () => item.placeOf(k));
      if (fault !== undefined && !audit.isReadable) throw toError(fault, session);
    }
    yield asPage(item.records.flatMap((decoded) => merger.take(decoded)));
  }
  yield asPage(merger.end());
}

function asPage(records: readonly SessionRecord[]): readonly DecodedRecord[] {
  // They were looked at before they were merged.
  return records.map((record) => ({ record, unknownType: false }));
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

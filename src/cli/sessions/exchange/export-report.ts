import { HoldfastError } from "../../../store/errors.ts";
import { TORN_END } from "../../../store/finding.ts";
import { counted, grouped } from "../../counted.ts";
import { formatBytes } from "../../doctor/units.ts";
import { exitCodeFor } from "../../exit-codes.ts";
import { printableLine } from "../../printable.ts";
import { failureReason } from "./failure-reason.ts";

/** What was written of one session, as `--json` prints it. Source: docs/cli.md. */
export interface ExportedSession {
  readonly id: string;
  readonly events: number;
  readonly digest: string;
  readonly torn: boolean;
  readonly masked?: number;
}

/** A session that was left out, and why. */
export interface LeftOut {
  readonly id: string;
  readonly code: string;
  readonly reason: string;
}

/** What became of the sessions. Keeps a line for each. */
export class ExportReport {
  readonly sessions: ExportedSession[] = [];
  readonly failed: LeftOut[] = [];
  /** How many of all sessions were deleted before they could be written. */
  gone = 0;
  /** Sessions with more secrets than are masked wherever they stand. */
  readonly crowded: string[] = [];

  /** That of the first session that was left out. */
  get exitCode(): number {
    const [first] = this.failed;
    return first === undefined ? 0 : exitCodeFor(first.code);
  }

  /** Whether there were sessions, and none of them could be written. */
  get isHollow(): boolean {
    return this.sessions.length === 0 && this.failed.length > 0;
  }

  /** Notes why a session is left out; throws again what is no matter of the session. */
  leaveOut(id: string, error: unknown): void {
    if (!(error instanceof HoldfastError)) throw error;
    this.failed.push({ id, code: error.code, reason: failureReason(error) });
  }

  /** What was written, in one line for people. */
  summary(file: string, bytes: number): string {
    const [first] = this.sessions;
    const what =
      this.sessions.length === 1 && first !== undefined
        ? first.id
        : `${grouped(this.sessions.length)} sessions`;
    const events = this.sessions.reduce((sum, session) => sum + session.events, 0);
    return `exported ${what} to ${file}: ${counted(events, "event")}, ${formatBytes(bytes)}`;
  }

  /** For people, one line each. `masked` is absent where nothing was to be masked. */
  notes(masked: number | undefined): string[] {
    return [
      ...this.sessions.flatMap(({ id, torn }) =>
        torn ? [`${printableLine(id)}: the ${TORN_END}; that piece is left out`] : [],
      ),
      ...this.failed.map(({ id, reason }) => printableLine(`${id} is left out: ${reason}`)),
      ...this.crowded.map(
        (id) =>
          `${printableLine(id)}: of its secrets, which are many, some are masked only where they were found`,
      ),
      ...(masked === undefined ? [] : [`${counted(masked, "place was", "places were")} masked`]),
    ];
  }
}

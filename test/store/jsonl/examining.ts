import type { Place as ErrorPlace } from "../../../src/session/errors.ts";
import type { ExaminedSession } from "../../../src/store/examiner.ts";
import type { Finding } from "../../../src/store/finding.ts";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import type { Patience } from "../../../src/store/jsonl/examine-log.ts";

/** Does not wait to see whether a torn end is growing. */
export const IMPATIENT: Patience = { now: Date.now, wait: async () => {} };

/** All that an examiner says about one log. */
export interface Examination {
  readonly id: string;
  readonly location: string;
  readonly header: unknown;
  readonly texts: readonly string[];
  readonly places: readonly ErrorPlace[];
  /** Of the header, then of the body, in stored order. */
  readonly findings: readonly Finding[];
  /** What was given out, item by item: texts of records, or a finding's code. */
  readonly order: readonly string[];
}

export async function examination(session: ExaminedSession): Promise<Examination> {
  const { id, location, header } = session;
  const texts: string[] = [];
  const places: ErrorPlace[] = [];
  const findings = [...session.findings];
  const order: string[] = [];
  for await (const item of session.items()) {
    if (item.kind === "damage") {
      findings.push(item.finding);
      order.push(item.finding.code);
      continue;
    }
    for (const [k, { record }] of item.records.entries()) {
      texts.push(record.text);
      order.push(record.text);
      places.push(item.placeOf(k));
    }
  }
  return { id, location, header, texts, places, findings, order };
}

/** All sessions of a root. */
export async function examineRoot(
  root: string,
  ids?: readonly string[],
  patience = IMPATIENT,
): Promise<Examination[]> {
  await using examiner = await examineJsonl(root, patience);
  const all: Examination[] = [];
  for await (const session of examiner.sessions(ids)) all.push(await examination(session));
  return all;
}

export function codesOf({ findings }: Pick<Examination, "findings">): string[] {
  return findings.map(({ code }) => code);
}

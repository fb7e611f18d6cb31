import { isEvent } from "../../../session/events.ts";
import { firstWords, givenTitle, titleOf } from "../../../session/projections/outline.ts";
import { breathe } from "../../../store/breathe.ts";
import type { HoldfastError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { untilDamage } from "../show/read-shown.ts";
import { modelText } from "../show/told.ts";
import type { ContentsEntry } from "./formats/format.ts";
import { KnownSecrets } from "./redact/known-secrets.ts";
import { RedactedRecords } from "./redact/redacted-records.ts";
import type { Redactor } from "./redact/redactor.ts";
import { maskedHeader } from "./write-session.ts";

/** What a first reading of a session tells, so that a second one can write it from the beginning on. */
export interface Survey extends ContentsEntry {
  /** Events that were read: so many are written, also where the session has gone on since. */
  readonly events: number;
  /** Whether the end of the log is damaged or was never fully written. */
  readonly torn: boolean;
  /** Why it could not be read to its end. */
  readonly damage?: HoldfastError;
  /** What is to be masked wherever it stands. */
  readonly secrets?: KnownSecrets;
}

/** Reads a session to its end, or to its damage. @throws NotFoundError, and what keeps it from being opened */
export async function surveySession(
  store: SessionPersistence,
  id: string,
  redactor: Redactor | undefined,
  onEvents: (events: number) => void,
): Promise<Survey> {
  const stream = await store.stream(id);
  const secrets = redactor === undefined ? undefined : new KnownSecrets();
  const learner = secrets && redactor?.learning(secrets);
  const records = learner && new RedactedRecords(learner);
  learner?.json(stream.headerText);
  let events = 0;
  let given: string | undefined;
  let first: string | undefined;
  let model: string | undefined;
  const damage = await untilDamage(async () => {
    for await (const page of stream.pages) {
      await breathe();
      onEvents(events);
      for (const { record, event, run } of page) {
        events += record.count;
        drain(records?.take(record, run));
        if (event === undefined) continue;
        given = givenTitle(event) ?? given;
        first ??= firstWords(event);
        if (isEvent(event, "request/header")) model = modelText(event.data.header.config);
      }
    }
  });
  drain(records?.end());
  redactor?.know(secrets);
  // Masked before they are cut: of a part nobody could tell what it is.
  const masked = (text: string | undefined) =>
    text === undefined || redactor === undefined ? text : redactor.quietly(() => redactor.text(text));
  const title = titleOf(masked(given), masked(first));
  const modelShown = masked(model);
  const shownId = redactor?.quietly(() => maskedHeader(stream, redactor).header.id) ?? stream.header.id;
  return {
    id: shownId,
    events,
    torn: stream.torn(),
    ...(damage === undefined ? {} : { damage }),
    ...(title === undefined ? {} : { title }),
    ...(modelShown === undefined ? {} : { model: modelShown }),
    ...(secrets === undefined ? {} : { secrets }),
  };
}

/** What is learnt counts here, not what would be written. */
function drain(shown: Iterable<unknown> = []): void {
  for (const _ of shown);
}

import type { Database } from "bun:sqlite";
import addFrame from "./sql/add-frame.sql" with { type: "text" };
import createSessionEvents from "./sql/create-session-events.sql" with { type: "text" };
import createSessionEvents3 from "./sql/create-session-events-3.sql" with { type: "text" };
import dropFrame from "./sql/drop-frame.sql" with { type: "text" };
import dropSessionEvents from "./sql/drop-session-events.sql" with { type: "text" };
import getUserVersion from "./sql/get-user-version.sql" with { type: "text" };
import selectAnySegment from "./sql/select-any-segment.sql" with { type: "text" };
import setUserVersion from "./sql/set-user-version.sql" with { type: "text" };
import setUserVersion3 from "./sql/set-user-version-3.sql" with { type: "text" };

/** The version that knows no quotes. Its tables are the same; its view does not put texts together. */
const WITHOUT_QUOTES = 1;

/**
 * Makes a store of version 1 one of version 2, before it is written to: in one transaction, which takes no longer in a
 * large store. Nothing of what is stored changes. Such a store is read, checked and repaired as it is.
 */
export function migrate(database: Database): void {
  if (versionOf(database) !== WITHOUT_QUOTES) return;
  database
    .transaction(() => {
      database.run(dropSessionEvents);
      database.run(createSessionEvents);
      database.run(setUserVersion);
    })
    .immediate();
}

/** The version that knows segments. */
const WITH_SEGMENTS = 3;

/**
 * Gives a store room for segments, within the transaction that writes the first one. SQLite reads the whole table before
 * it adds the column, so that no store is asked for it when it is only opened. Nothing of what is stored changes.
 */
export function admitSegments(database: Database): void {
  if (versionOf(database) === WITH_SEGMENTS) return;
  database.run(addFrame);
  database.run(dropSessionEvents);
  database.run(createSessionEvents3);
  database.run(setUserVersion3);
}

/**
 * Makes a store without a segment one of version 2 again, which older programs read. SQLite writes the whole table for it.
 */
export function withdrawSegments(database: Database): void {
  if (versionOf(database) !== WITH_SEGMENTS || database.query(selectAnySegment).get() !== null) return;
  database
    .transaction(() => {
      database.run(dropSessionEvents);
      database.run(dropFrame);
      database.run(createSessionEvents);
      database.run(setUserVersion);
    })
    .immediate();
}

function versionOf(database: Database): number | undefined {
  return database.query<{ readonly user_version: number }, []>(getUserVersion).get()?.user_version;
}

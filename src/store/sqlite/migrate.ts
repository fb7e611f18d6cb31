import type { Database } from "bun:sqlite";
import createSessionEvents from "./sql/create-session-events.sql" with { type: "text" };
import dropSessionEvents from "./sql/drop-session-events.sql" with { type: "text" };
import getUserVersion from "./sql/get-user-version.sql" with { type: "text" };
import setUserVersion from "./sql/set-user-version.sql" with { type: "text" };

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

function versionOf(database: Database): number | undefined {
  return database.query<{ readonly user_version: number }, []>(getUserVersion).get()?.user_version;
}

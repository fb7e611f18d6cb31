import type { Database } from "bun:sqlite";
import { z } from "zod";
import { CorruptError } from "../errors.ts";
import countObjectsSql from "./sql/count-objects.sql" with { type: "text" };
import createRecords from "./sql/create-records.sql" with { type: "text" };
import createRecords3 from "./sql/create-records-3.sql" with { type: "text" };
import createSessionEvents from "./sql/create-session-events.sql" with { type: "text" };
import createSessionEvents1 from "./sql/create-session-events-1.sql" with { type: "text" };
import createSessionEvents3 from "./sql/create-session-events-3.sql" with { type: "text" };
import createSessions from "./sql/create-sessions.sql" with { type: "text" };
import getUserVersion from "./sql/get-user-version.sql" with { type: "text" };
import selectSchema from "./sql/select-schema.sql" with { type: "text" };
import setApplicationId from "./sql/set-application-id.sql" with { type: "text" };
import setUserVersion from "./sql/set-user-version.sql" with { type: "text" };

const VIEWS = [createSessionEvents1, createSessionEvents, createSessionEvents3];

/** What a store of each version consists of. */
function objectsOf(version: number) {
  return [
    { type: "table", name: "records", sql: version === 3 ? createRecords3 : createRecords },
    { type: "table", name: "sessions", sql: createSessions },
    { type: "view", name: "session_events", sql: VIEWS[version - 1] ?? createSessionEvents },
  ] as const;
}

/** A column that was added stands in SQLite's text of a table without the line breaks of ours. */
function squeezed(sql: string): string {
  return sql.replace(/\s+/g, "");
}

const schemaRows = z.array(z.object({ type: z.string(), name: z.string(), sql: z.string().nullable() }));

/** All tables and both header values of version 2, in one transaction. */
export function createSchema(database: Database): void {
  database
    .transaction(() => {
      database.run(createSessions);
      database.run(createRecords);
      database.run(createSessionEvents);
      database.run(setApplicationId);
      database.run(setUserVersion);
    })
    .immediate();
}

/** Number of objects of any kind. */
export function countObjects(database: Database): number {
  return z.object({ objects: z.number() }).parse(database.query(countObjectsSql).get()).objects;
}

/** @throws CorruptError when a table or view is missing or of another shape. Indexes that people added are fine. */
export function assertSchema(database: Database, path: string): void {
  const version = z.object({ user_version: z.number() }).parse(database.query(getUserVersion).get());
  const rows = schemaRows.parse(database.query(selectSchema).all());
  for (const { type, name, sql } of objectsOf(version.user_version)) {
    const row = rows.find((candidate) => candidate.name === name);
    if (row?.type === type && squeezed(row.sql ?? "") === squeezed(sql)) continue;
    throw new CorruptError(`The ${type} ${name} has another shape`, {
      expected: `the definition of schema version ${version.user_version}`,
      found: row === undefined ? "none" : (row.sql ?? row.type).replace(/\s+/g, " ").slice(0, 80),
      place: { path },
    });
  }
}

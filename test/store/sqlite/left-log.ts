import { readFileSync, writeFileSync } from "node:fs";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { title } from "../../contract/support.ts";
import { Place } from "./place.ts";

/* A store as a process leaves it that is killed. */

/** Bytes of a frame of a log. */
export const FRAME = 4096 + 24;

/** A byte of the third frame: changed, it hides the commits behind it. */
export const HIDING = 32 + 2 * FRAME + 100;

/** A database with `a` and `b`, and a log in which the last four events of each are, and a session `late`. */
export async function left(): Promise<Place> {
  using source = new Place();
  await source.fill({ a: Array.from({ length: 60 }, (_, n) => title(n)), b: [title(0)] });
  await using store = await source.open();
  for (let n = 0; n < 8; n += 1) {
    await using session = (await store.prepare(n % 2 === 0 ? "a" : "b")).publish();
    await session.log.append({ type: "session/title", data: `late ${n}` });
  }
  for (const data of [1, 2]) {
    await using late = data === 1 ? await create(store) : (await store.prepare("late")).publish();
    await late.log.append({ type: "session/title", data });
  }
  const place = new Place();
  for (const suffix of ["", "-wal"]) writeFileSync(place.path + suffix, readFileSync(source.path + suffix));
  return place;
}

function create(store: SessionPersistence) {
  return store.create({ version: 0, id: "late", createdAt: 1 });
}

import { type BrokenBackend, broken, brokenDurable } from "./broken.ts";
import { BROKEN_DURABLE } from "./durable.ts";
import { BROKEN_LISTING } from "./listing.ts";
import { BROKEN_READING } from "./reading.ts";
import { BROKEN_WRITING } from "./writing.ts";

export type { BrokenBackend } from "./broken.ts";

export const BROKEN: readonly BrokenBackend[] = [
  ...BROKEN_WRITING,
  ...BROKEN_READING,
  ...BROKEN_LISTING,
  ...BROKEN_DURABLE,
];

const EVERY_CASE = BROKEN.flatMap(({ caughtBy }) => caughtBy);

/** What the broken ones are made of, with nothing broken: it passes every case that they fail. */
export const SOUND: readonly BrokenBackend[] = [
  broken("nothing, in memory", (inner) => inner, EVERY_CASE),
  brokenDurable("nothing, in files", (inner) => inner, EVERY_CASE),
];

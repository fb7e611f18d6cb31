import { z } from "zod";
import { STORES } from "../fixtures/host-lab.ts";

/* What the runner and its children tell each other. */

/** What a child does at one input, so that it can be told whether its runner sees that. */
const sabotage = z.object({ number: z.number(), sabotage: z.enum(["hangs", "grows", "dies", "rejects"]) });
export type Sabotage = z.infer<typeof sabotage>;

export const childOptions = z.object({
  kind: z.enum(STORES),
  seed: z.number(),
  first: z.number(),
  /** After the last one. */
  end: z.number(),
  /** Epoch milliseconds after which no input is begun. */
  deadline: z.number(),
  /** Path of the progress file. */
  progress: z.string(),
  sabotage: sabotage.exactOptional(),
});

export type ChildOptions = z.infer<typeof childOptions>;

/** What became of an input, for the report: which ways it came to be gone. */
export const OUTCOMES = [
  "refused",
  "clean",
  "torn",
  "damaged",
  "appended",
  "repaired",
  "salvaged",
  "executable",
] as const;
export type OutcomeName = (typeof OUTCOMES)[number];

export const childMessage = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("done"), number: z.number(), outcome: z.array(z.enum(OUTCOMES)) }),
  z.object({
    kind: z.literal("failed"),
    number: z.number(),
    step: z.string(),
    check: z.string(),
    what: z.string(),
  }),
  z.object({ kind: z.literal("end"), number: z.number() }),
]);

export type ChildMessage = z.infer<typeof childMessage>;

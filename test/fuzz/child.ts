import { z } from "zod";
import { STORES } from "../fixtures/host-lab.ts";
import { checkInput, dutiesOf } from "./check-input.ts";
import { makeCorpus } from "./corpus.ts";
import { describe, Fault } from "./fault.ts";
import { makeInput } from "./input.ts";
import { ProgressFile } from "./progress-file.ts";
import { type ChildMessage, childOptions, type Sabotage } from "./protocol.ts";

/*
 * Checks a range of inputs, one after the other, in a process of its own: it may hang, grow or die. Tells its parent by
 * lines of JSON.
 */

/** Memory that may be taken before it is cleaned up. */
const MUCH = 400 * 1024 * 1024;

const options = childOptions.parse(JSON.parse(process.argv[2] ?? ""));
const { kind, seed, first, end, deadline } = options;
using progress = new ProgressFile(options.progress);
let number = first;
let step = "";
let most = MUCH;

for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => {
    fail("nothing is thrown beside", error);
    process.exit(1);
  });
}

const mark = (next: string, patience = 60_000) => {
  // What one step has left over is not counted against the next.
  if (process.memoryUsage.rss() > most) {
    Bun.gc(true);
    most = process.memoryUsage.rss() + MUCH;
  }
  step = next;
  progress.write({ number, step, since: Date.now(), patience });
};

mark("making the corpus");
const corpus = await makeCorpus(z.enum(STORES).parse(kind), seed, options.sabotage === undefined);
for (; number < end && Date.now() < deadline; number += 1) {
  mark("making the input");
  const input = makeInput(kind, seed, number, corpus);
  try {
    if (options.sabotage?.number === number) await sabotage(options.sabotage);
    const outcome = await checkInput(input, (next) => mark(next, input.patience), dutiesOf(number));
    tell({ kind: "done", number, outcome: [...outcome] });
  } catch (error) {
    fail(error instanceof Fault ? error.check : "the checks themselves work", error);
  }
}
tell({ kind: "end", number });

async function sabotage({ sabotage: way }: Sabotage): Promise<void> {
  mark("sabotage", way === "hangs" ? 500 : 60_000);
  if (way === "dies") process.exit(3);
  if (way === "rejects") Promise.reject(new Error("made up"));
  const kept: Uint8Array[] = [];
  while (way === "hangs" || way === "grows") if (way === "grows") kept.push(new Uint8Array(2 ** 24).fill(1));
  await Bun.sleep(1);
}

function fail(check: string, error: unknown): void {
  const what = error instanceof Fault ? error.message : describe(error);
  tell({ kind: "failed", number, step, check, what });
}

function tell(message: ChildMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

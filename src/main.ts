#!/usr/bin/env bun
import { reportError } from "./cli/exit-codes.ts";
import { watchOutput } from "./cli/pipes.ts";
import { run } from "./cli/program.ts";

/* Runs one command. The exit code is set, not forced: what was written to a pipe still drains. */

watchOutput();
let exitCode: number;
try {
  exitCode = await run(process.argv.slice(2));
} catch (error) {
  exitCode = reportError(error);
}
// Unless the output has failed meanwhile, which is no success.
if (exitCode !== 0 || process.exitCode === undefined) process.exitCode = exitCode;

import { runHoldfast } from "../fixtures/executable.ts";
import type { Mark, StoreReading } from "./check-reading.ts";
import { need } from "./fault.ts";
import { storeIn } from "./store-files.ts";
import type { Input } from "./types.ts";

/** Exit codes of the commands that read: docs/cli.md. */
const CODES: ReadonlySet<number | undefined> = new Set([0, 1, 3, 5, 7]);
const MOST_SHOWN = 60;

/** Runs the commands of the executable that read a store. @throws Fault */
export async function checkExecutable(
  input: Input,
  place: string,
  reading: StoreReading,
  mark: Mark,
): Promise<void> {
  const { kind, path } = storeIn(place, input.kind);
  const from = [kind === "sqlite" ? "--session-db" : "--session-dir", path];
  const [id] = reading.listed.filter((one) => one.isWellFormed() && !one.startsWith("-"));
  const commands = [
    ["list", "--no-cache", ...from],
    ["list", "--no-cache", "--json", ...from],
    ["verify", "--json", ...from],
  ];
  if (id !== undefined) commands.push(["show", ...from, id], ["show", "--json", ...from, id]);
  for (const command of commands) {
    mark(`run ${command[0]}`);
    const { code, stderr } = await runHoldfast(["sessions", ...command]);
    const isFine = CODES.has(code) && !/internal error|\n\s+at /.test(stderr);
    need(
      isFine,
      "the executable ends in order",
      () => `${command.join(" ")}: ${code} ${stderr.slice(-MOST_SHOWN * 20)}`,
    );
  }
}

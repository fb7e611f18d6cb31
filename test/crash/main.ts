import { parseArgs } from "node:util";
import { STORES, type StoreKind } from "../fixtures/host-lab.ts";
import { HELP, withUsage } from "../fixtures/usage.ts";
import { crash } from "./harness.ts";
import { failureText } from "./report.ts";

const USAGE = `Usage: bun run crash [flags]

Kills Hosts of the built executable again and again, and checks that nothing that was acknowledged is lost. Exits with 1
when anything is wrong.

  --runs <number>     how many runs for each kind of store (default: 30)
  --seed <number>     makes the same choices again; it is printed with every failure
  --backend <name>    sqlite, zstd, none (plain lines) or all (default: all)
  --run <number>      one run again, with those before it on the same store
  -h, --help          print this
`;

const values = withUsage(
  USAGE,
  () =>
    parseArgs({
      options: {
        ...HELP,
        runs: { type: "string", default: "30" },
        seed: { type: "string" },
        backend: { type: "string", default: "all" },
        run: { type: "string" },
      },
    }).values,
);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : natural("--seed", values.seed);
const kinds = STORES.filter((kind) => values.backend === "all" || values.backend === kind);
if (kinds.length === 0) fail(`--backend is one of ${STORES.join(", ")}, all`);
const only = values.run === undefined ? undefined : natural("--run", values.run);
const range = only === undefined ? { end: natural("--runs", values.runs) } : { first: only, end: only + 1 };

// Side by side: most of a run is waiting for processes and for the disk.
const reports = await Promise.all(kinds.map(crashOne));
for (const report of reports) process.stdout.write(report.text());
process.exitCode = reports.some(({ failures }) => failures.length > 0) ? 1 : 0;

function crashOne(kind: StoreKind) {
  return crash({
    kind,
    seed,
    ...range,
    failed: (failure) => process.stderr.write(failureText(kind, seed, failure)),
    progress: ({ runs, failures }) => {
      if (process.stderr.isTTY) process.stderr.write(`${kind}: ${runs} runs, ${failures.length} failures\n`);
    },
  });
}

function natural(flag: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  return fail(`${flag} cannot be ${JSON.stringify(text)}: it must be a whole number`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

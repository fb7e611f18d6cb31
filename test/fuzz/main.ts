import { parseArgs } from "node:util";
import { STORES, type StoreKind } from "../fixtures/host-lab.ts";
import { HELP, withUsage } from "../fixtures/usage.ts";
import { failureText } from "./report.ts";
import { fuzz } from "./runner.ts";

const USAGE = `Usage: bun run fuzz [flags]

Damages stores in every way that it can think of, and does with them whatever can be done with a store. Exits with 1 when
anything is wrong.

  --inputs <number>   how many damaged stores of each kind (default: 1000)
  --seconds <number>  for how long, instead
  --seed <number>     makes the same choices again; it is printed with every failure
  --backend <name>    sqlite, zstd, none (plain lines) or all (default: all)
  --only <number>     one input again
  -h, --help          print this
`;

const values = withUsage(
  USAGE,
  () =>
    parseArgs({
      options: {
        ...HELP,
        inputs: { type: "string" },
        seconds: { type: "string" },
        seed: { type: "string" },
        backend: { type: "string", default: "all" },
        only: { type: "string" },
      },
    }).values,
);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : natural("--seed", values.seed);
const kinds = STORES.filter((kind) => values.backend === "all" || values.backend === kind);
if (kinds.length === 0) fail(`--backend is one of ${STORES.join(", ")}, all`);
const seconds = values.seconds === undefined ? undefined : natural("--seconds", values.seconds);
const inputs = values.inputs === undefined ? undefined : natural("--inputs", values.inputs);
const only = values.only === undefined ? undefined : natural("--only", values.only);
const count = inputs ?? (seconds === undefined ? 1_000 : Number.MAX_SAFE_INTEGER);
const range = only === undefined ? { end: count } : { first: only, end: only + 1 };
const until = seconds === undefined ? {} : { deadline: Date.now() + 1_000 * seconds };

const reports = await Promise.all(kinds.map(fuzzOne));
for (const report of reports) process.stdout.write(report.text());
process.exitCode = reports.some(({ failures }) => failures.length > 0) ? 1 : 0;

function fuzzOne(kind: StoreKind) {
  return fuzz({
    kind,
    seed,
    ...range,
    ...until,
    failed: (failure) => process.stderr.write(failureText(kind, seed, failure)),
    progress: (report) => {
      if (process.stderr.isTTY) process.stderr.write(report.text());
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

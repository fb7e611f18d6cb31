import { parseArgs } from "node:util";
import type { Tally } from "../fixtures/power-cut/check.ts";
import { JSONL_SCENARIOS } from "../fixtures/power-cut/jsonl.ts";
import { SQLITE_SCENARIOS } from "../fixtures/power-cut/sqlite.ts";
import { HELP, withUsage } from "../fixtures/usage.ts";

const USAGE = `Usage: bun test/crash/power-cut.ts [flags]

Cuts the power at every point of what a Turn, a repair and a deletion write, opens every state that this may leave with the
real store, and says how many there were. Fails at the first that is not right.

  --backend <name>    sqlite, zstd, none (plain lines) or all (default: all)
  -h, --help          print this
`;

const BACKENDS = {
  sqlite: SQLITE_SCENARIOS,
  zstd: JSONL_SCENARIOS.map((scenario) => ({ ...scenario, run: () => scenario.run("zstd") })),
  none: JSONL_SCENARIOS.map((scenario) => ({ ...scenario, run: () => scenario.run("none") })),
} as const;

const { backend: asked } = withUsage(
  USAGE,
  () => parseArgs({ options: { ...HELP, backend: { type: "string", default: "all" } } }).values,
);
const chosen = Object.entries(BACKENDS).filter(([name]) => asked === "all" || asked === name);
if (chosen.length === 0) {
  process.stderr.write(`--backend is one of ${Object.keys(BACKENDS).join(", ")}, all\n`);
  process.exit(2);
}
for (const [backend, scenarios] of chosen) {
  let sum = 0;
  for (const { name, floor, run } of scenarios) {
    const tally = await run();
    const count = countOf(tally);
    if (count <= floor) throw new Error(`${backend}, ${name}: only ${count} states`);
    process.stdout.write(`${backend}\t${String(count).padStart(5)} states ${name} (${textOf(tally)})\n`);
    sum += count;
  }
  process.stdout.write(`${backend}\t${String(sum).padStart(5)} states in all: every one as promised\n`);
}

function countOf({ present, absent, refused }: Tally): number {
  return present + absent + refused;
}

function textOf({ present, absent, refused }: Tally): string {
  const parts = [`${present} with the session`, `${absent} before it was there`];
  return [...parts, ...(refused === 0 ? [] : [`${refused} refused for a hole`])].join(", ");
}

import { withConfigFile } from "../../host/config-file.ts";
import { chosenStore } from "../../host/store-options.ts";
import { isGiven, type RawOptions } from "../../host/usage.ts";
import { versionInfo } from "../../host/version.ts";
import { SYSTEM } from "../../store/file-system.ts";
import { examineStore, type StoreHealth } from "../../store/health/examine.ts";
import { finding, type HealthFinding } from "../../store/health/findings.ts";
import { sqliteVersion } from "../../store/sqlite/version.ts";
import { EXIT, exitCodeFor } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { StopSignals } from "../stop-signals.ts";
import { outputColumns } from "../wrap.ts";
import { reportText } from "./text.ts";

/** What `holdfast doctor` tells, as `--json` prints it. Source: docs/cli.md. */
export interface DoctorReport extends Partial<Omit<StoreHealth, "findings">> {
  readonly version: string;
  readonly platform: string;
  readonly bun: string;
  readonly sqlite: string;
  readonly sessionFormat: number;
  readonly findings: readonly HealthFinding[];
}

export interface DoctorCommand {
  readonly json: boolean;
  /** Whether a folder for the measure may be made beside the store. */
  readonly write: boolean;
}

const NO_STORE = finding("no-store-named", "No store is named", {
  hint: "Name the one to look at: as an argument, or as --session-db PATH or --session-dir ROOT.",
});

/** `holdfast doctor`: looks at a store and at what it stands on. Fails if there is a problem, with its code. */
export async function doctor(
  given: RawOptions,
  argument: string | undefined,
  { json, write }: DoctorCommand,
): Promise<number> {
  const raw = argument === undefined ? withConfigFile(given) : given;
  const isNamed = argument !== undefined || isGiven(raw["sessionDb"]) || isGiven(raw["sessionDir"]);
  const name = isNamed ? chosenStore(raw, argument) : undefined;
  // A second one leaves the folder of the measurement; the next run tells.
  using stop = new StopSignals();
  const tools = { now: () => performance.now(), newId: () => crypto.randomUUID(), system: SYSTEM };
  try {
    const health =
      name === undefined
        ? { findings: [NO_STORE] }
        : await examineStore(name, { ...tools, signal: stop.signal, mayWrite: write });
    const report = { ...thisProgram(), ...health };
    process.stdout.write(json ? `${jsonText(report)}\n` : reportText(report, outputColumns()));
    const problem = report.findings.find(({ level }) => level === "problem");
    return problem === undefined ? EXIT.ok : exitCodeFor(problem.code);
  } catch (error) {
    if (stop.code !== undefined) return stop.code;
    throw error;
  }
}

function thisProgram() {
  const { version, platform, bun, sessionFormat } = versionInfo();
  return { version, platform, bun, sqlite: sqliteVersion(), sessionFormat };
}

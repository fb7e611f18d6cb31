import { chosenStore } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import { type BackupFault, type BackupReport, backupStore } from "../../store/backup.ts";
import { looksLikeDatabase } from "../../store/database-file.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import { counted } from "../counted.ts";
import { EXIT, exitCodeFor } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";

export interface BackupCommand {
  /** File or folder to make. */
  readonly to: string;
  readonly json: boolean;
}

/** `holdfast sessions backup`: one consistent copy of a store, also while a Host writes it. */
export async function backup(
  raw: RawOptions,
  argument: string | undefined,
  command: BackupCommand,
): Promise<number> {
  const from = chosenStore(raw, argument);
  const to = targetOf(command.to, from.kind);
  using stop = new StopSignals();
  try {
    return await printingOn((output) => run(from, to, command.json, { signal: stop.signal, output }));
  } catch (error) {
    if (stop.code === undefined) throw error;
    process.stderr.write("holdfast: stopped; no backup was made\n");
    return stop.code;
  }
}

/** The path of a backup, which is of the same kind as its store. @throws UsageError */
function targetOf(given: string, kind: StoreName["kind"]): string {
  const refused = (why: string, hint: string) =>
    new UsageError(`--to cannot be ${JSON.stringify(given)}: ${why}`, hint);
  const [, named, path = ""] = /^(?:(sqlite|jsonl):)?(.*)$/s.exec(given) ?? [];
  if ((named ?? kind) !== kind) {
    throw refused(
      "a backup is of the same kind as its store",
      "`holdfast sessions copy --all` writes the sessions of a store as another kind.",
    );
  }
  if (path === "" || path.includes("\0")) {
    throw refused("it must be a path", "`holdfast sessions backup --help` says how it is used.");
  }
  if (kind === "sqlite" && /[/\\]$/.test(path))
    throw refused("a database is backed up as one file", "Name the file, too.");
  if (kind === "jsonl" && named === undefined && looksLikeDatabase(path)) {
    throw refused(
      "session logs are backed up as a folder, and this is the name of a database",
      `Name a folder. \`holdfast sessions copy --all\` writes the sessions of a store as another kind.`,
    );
  }
  return path;
}

async function run(
  from: StoreName,
  to: string,
  json: boolean,
  { signal, output }: { readonly signal: AbortSignal; readonly output: Output },
): Promise<number> {
  const report = await write(from, to, signal);
  const target = { kind: from.kind, path: to };
  if (json) await output.write(`${jsonText(reportJson(from, target, report))}\n`);
  else await output.write(reportText(from, target, report));
  const [fault] = report.faults;
  return fault === undefined ? EXIT.ok : exitCodeFor(fault.error.code);
}

async function write(from: StoreName, to: string, signal: AbortSignal): Promise<BackupReport> {
  using progress = new Progress();
  return await backupStore(from, to, {
    clock: Date.now,
    signal,
    onProgress: (phase, done, total) =>
      progress.show(total === undefined ? phase : `${phase}: ${done} of ${total} sessions`),
  });
}

function reportText(from: StoreName, to: StoreName, { sessions, events, faults }: BackupReport): string {
  const lines = faults.map(({ id, state, error }) =>
    printableLine(`${state} ${id}: ${error.explain().replaceAll("\n", " ")}`),
  );
  const what = `${counted(sessions, "session")}, ${counted(events, "event")}, compared with the store`;
  const names = `backed up ${formatStoreName(from)} to ${formatStoreName(to)}`;
  return [...lines, printableLine(`${names}: ${what}`), ""].join("\n");
}

function reportJson(from: StoreName, to: StoreName, { sessions, events, faults }: BackupReport): object {
  const members = ({ id, state, error }: BackupFault) => ({
    id,
    state,
    code: error.code,
    reason: error.message,
  });
  return {
    from: formatStoreName(from),
    to: formatStoreName(to),
    sessions,
    events,
    faults: faults.map(members),
  };
}

import { type Command, Option } from "@commander-js/extra-typings";
import { flag, rawOptions } from "../options.ts";

/** @param stores what the help of commands that take a store ends with */
export function addCompact(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("compact")
    .description("make sessions smaller on the disk; their events stay the same to the byte")
    .argument("[store]", "store to compact, in place of a flag")
    .argument("[id...]", "sessions to compact; none with --all")
    .addOption(flag("--session-db <path>", "SQLite file that keeps the sessions"))
    .addOption(flag("--session-dir <root>", "folder of session logs"))
    .addOption(new Option("--all", "compact every session of the store"))
    .addOption(new Option("--expand", "take it back: as appends would leave the sessions"))
    .addOption(new Option("--dry-run", "only say what would be saved; takes no lock"))
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions compact --all --dry-run ./data/agent.db\n  holdfast sessions compact default --session-dir ./sessions\n`,
    )
    .addHelpText(
      "after",
      `${stores}\n\nThe store must not be in use. In a database compacted events are not in the view\nsession_events, which SQL reads, until --expand takes it back.`,
    );
  command.action(async (store, ids, { all, expand, dryRun, json, ...options }) => {
    const { compact } = await import("./compact.ts");
    const flags = {
      all: all === true,
      expand: expand === true,
      dryRun: dryRun === true,
      json: json === true,
    };
    const args = store === undefined ? [] : [store, ...ids];
    finish(await compact(rawOptions(command, options), args, flags));
  });
}

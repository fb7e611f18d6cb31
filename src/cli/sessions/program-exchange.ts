import { type Command, Option } from "@commander-js/extra-typings";
import { flag, rawOptions } from "../options.ts";
import { FORMAT_NAMES } from "./exchange/formats/format.ts";

/* The commands that take sessions out of stores and into them. `stores` ends the help: how stores are named. */

export function addExport(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("export")
    .description("write sessions as Markdown, HTML, JSON or JSON Lines")
    .argument("[store]", "store to read, in place of a flag")
    .argument("[id...]", "sessions to write, in this order; the beginning of an id is enough")
    .addOption(flag("--session-db <path>", "SQLite file that keeps the sessions"))
    .addOption(flag("--session-dir <root>", "folder of session logs"))
    .addOption(new Option("--all", "write every session"))
    .addOption(
      new Option("--format <name>", "md and html for people, json and jsonl for programs").choices(
        FORMAT_NAMES,
      ),
    )
    .option("-o, --output <file>", "new file to write, which only you can read")
    .addOption(new Option("--force", "replace the file if it is there"))
    .addOption(new Option("--redact", "mask what looks like a secret"))
    .option(
      "--redact-pattern <re>",
      "mask what this regular expression finds, too; can be given several times",
      (pattern: string, before: readonly string[] | undefined) => [...(before ?? []), pattern],
    )
    .addOption(new Option("--json", "with -o, print one JSON object that says what was written"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions export ./data/agent.db default -o default.html --redact\n  holdfast sessions export ./data/agent.db --all --format jsonl > all.jsonl\n`,
    )
    .addHelpText("after", `${stores}`);
  command.action(async (store, ids, options) => {
    const { all, format, output, force, redact, redactPattern: patterns, json, ...others } = options;
    const { exportSessions } = await import("./exchange/export.ts");
    const args = store === undefined ? [] : [store, ...ids];
    finish(
      await exportSessions(rawOptions(command, others), args, {
        all: all === true,
        ...(format === undefined ? {} : { format }),
        ...(output === undefined || output === "-" ? {} : { file: output }),
        force: force === true,
        redact: redact === true,
        patterns: patterns ?? [],
        json: json === true,
      }),
    );
  });
}

export function addImport(sessions: Command, finish: (code: number) => void, stores: string): void {
  sessions
    .command("import")
    .description("take sessions from exported files, session logs and roots into a store")
    .argument("<file...>", "files and folders of sessions; they are not changed")
    .requiredOption("--to <store>", "store to write; made when it does not exist")
    .addOption(new Option("--salvage", "take what is left of damaged sessions over into new ones"))
    .addOption(
      flag("--jsonl-encoding <name>", "how new session logs are written").choices(["zstd", "none"] as const),
    )
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions import all.jsonl --to ./data/agent.db\n  holdfast sessions import ~/.dsh --to jsonl:./sessions\n`,
    )
    .addHelpText(
      "after",
      `${stores}\n\nCtrl-C stops between two writes; the same command goes on from there.`,
    )
    .action(async (files, { to, salvage, json, jsonlEncoding: encoding }) => {
      const { importSessions } = await import("./exchange/import.ts");
      const chosen = encoding === undefined ? {} : { encoding };
      finish(await importSessions(files, { to, salvage: salvage === true, json: json === true, ...chosen }));
    });
}

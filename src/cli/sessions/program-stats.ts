import { type Command, Option } from "@commander-js/extra-typings";
import { flag, rawOptions } from "../options.ts";

/* The commands that follow and that measure sessions. */

const storeFlags = {
  db: () => flag("--session-db <path>", "SQLite file that keeps the sessions"),
  dir: () => flag("--session-dir <root>", "folder of session logs"),
};

/** @param stores what the help of commands that take a store ends with */
export function addTail(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("tail")
    .description("show the end of a session, and follow it while another process writes it")
    .argument("<id>", "session to show")
    .argument("[store]", "store to read, in place of a flag")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("-f, --follow", "go on with what is committed, until Ctrl-C"))
    .addOption(new Option("-n, --lines <number>", "how many of the last entries or events; 10 if not given"))
    .addOption(new Option("--full", "shorten nothing, and show reasoning"))
    .addOption(
      new Option("--events", "show events in place of entries, one JSON object a line").conflicts("full"),
    )
    .addOption(
      new Option("--json", "print one JSON object an entry, one a line").conflicts(["events", "full"]),
    )
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions tail default ./data/agent.db -f\n  holdfast sessions tail default jsonl:./sessions -n 1\n`,
    )
    .addHelpText("after", `${stores}\n\nWith -f the session need not be there yet.`);
  command.action(async (id, store, { follow, lines, json, events, full, ...options }) => {
    const { tail } = await import("./tail/tail.ts");
    const form = events === true ? "events" : json === true ? "json" : "text";
    const flags = { follow: follow === true, count: lines, form, full: full === true } as const;
    finish(await tail(rawOptions(command, options), store, id, flags));
  });
}

export function addStats(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("stats")
    .description("count events, Turns, tools, tokens and cost of a session, or of all")
    .argument("[id]", "session to read; none with --all")
    .argument("[store]", "store to read, in place of a flag")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("--all", "count all sessions of the store together"))
    .addOption(new Option("--prices <file>", "JSON file with prices, in USD a million tokens"))
    .addOption(new Option("--json", "print one JSON object"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions stats default ./data/agent.db\n  holdfast sessions stats --all ./data/agent.db --prices ./prices.json\n`,
    )
    .addHelpText("after", `${stores}`);
  command.action(async (id, store, { all, prices, json, ...options }) => {
    const { stats } = await import("./stats/stats.ts");
    const flags = { all: all === true, json: json === true, prices };
    finish(await stats(rawOptions(command, options), [id, store], flags));
  });
}

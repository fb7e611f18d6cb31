import { type Command, Option } from "@commander-js/extra-typings";
import { collected, flag, rawOptions } from "../options.ts";

/** @param stores what the help of commands that take a store ends with */
export function addSearch(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("search")
    .description("find a text in what was said in the sessions of a store, also while a Host writes it")
    .argument("<text>", "text to find, in any letter case")
    .argument("[store]", "store to search, in place of a flag")
    .addOption(flag("--session-db <path>", "SQLite file that keeps the sessions"))
    .addOption(flag("--session-dir <root>", "folder of session logs"))
    .addOption(new Option("--regex", "the text is a regular expression of JavaScript"))
    .addOption(
      new Option(
        "--in <names>",
        "whose texts: user, assistant, reasoning, tool; all but reasoning if not given",
      ),
    )
    .addOption(new Option("--case-sensitive", "letters only match in the same case"))
    .addOption(
      new Option("--session <id>", "search only this session; can be given several times").argParser(
        collected,
      ),
    )
    .addOption(new Option("--limit <number>", "stop after so many hits"))
    .addOption(new Option("--no-index", "read everything, and keep no index in the store"))
    .addOption(new Option("--json", "print one JSON object a hit, one a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions search milk ./data/agent.db\n  holdfast sessions search --regex 'ENO(ENT|SPC)' --in tool --session-dir ./sessions\n`,
    )
    .addHelpText("after", `${stores}\n\nExits with 1 when nothing is found.`);
  command.action(async (text, store, options) => {
    const { regex, in: speakers, caseSensitive, session, limit, index, json, ...rest } = options;
    const { searchSessions } = await import("./search/search.ts");
    const flags = {
      regex: regex === true,
      speakers: speakers ?? "user,assistant,tool",
      caseSensitive: caseSensitive === true,
      sessions: session ?? [],
      limit,
      index,
      json: json === true,
    };
    finish(await searchSessions(rawOptions(command, rest), store, text, flags));
  });
}

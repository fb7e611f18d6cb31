import { type Command, Option } from "@commander-js/extra-typings";
import { collected, flag, rawOptions, WRAPPED } from "../options.ts";
import { addDelete, addFork, addPrune, addRename } from "./program-change.ts";
import { addCompact } from "./program-compact.ts";
import { addExport, addImport } from "./program-exchange.ts";
import { addSearch } from "./program-search.ts";
import { addStats, addTail } from "./program-stats.ts";

/** Ends the help of commands that take a store by its name. */
export const STORES = `
A STORE is sqlite:PATH, jsonl:ROOT, or a path alone: a file is SQLite, a folder
JSONL, and a new one that ends in .db or .sqlite is SQLite.`;

/** The commands below `holdfast sessions`. Each one's module is loaded when it is called. */
export function addSessions(program: Command, finish: (code: number) => void): void {
  const sessions = program
    .command("sessions")
    .description("find, read, follow, export, copy, check, repair, back up and delete stored sessions");
  // Before the name of the command or after it.
  sessions.addOption(flag("--config <file>", "JSON file with settings; the store that it names is the one"));
  // The names alone, for the arguments would leave no room for what the commands do; the help of each tells its own.
  sessions.configureHelp({
    ...WRAPPED,
    subcommandTerm: (command) => command.name(),
    showGlobalOptions: true,
  });
  sessions.addHelpText(
    "before",
    `Examples:
  holdfast sessions list ./data/agent.db
  holdfast sessions show default ./data/agent.db
  holdfast sessions search milk ./data/agent.db
`,
  );
  sessions.commandsGroup("Find and read:");
  addList(sessions, finish);
  addShow(sessions, finish);
  addTail(sessions, finish, STORES);
  addSearch(sessions, finish, STORES);
  addStats(sessions, finish, STORES);
  sessions.commandsGroup("Copy and keep:");
  addExport(sessions, finish, STORES);
  addImport(sessions, finish, STORES);
  addCopy(sessions, finish);
  addBackup(sessions, finish);
  sessions.commandsGroup("Change:");
  addFork(sessions, finish, STORES);
  addRename(sessions, finish, STORES);
  addCompact(sessions, finish, STORES);
  addDelete(sessions, finish, STORES);
  addPrune(sessions, finish, STORES);
  sessions.commandsGroup("Check and mend:");
  addVerify(sessions, finish);
  addRepair(sessions, finish);
  addSalvage(sessions, finish);
}

function addList(sessions: Command, finish: (code: number) => void): void {
  const filters = ["cwd", "since", "state", "parent", "grep", "limit", "cursor", "check", "json"];
  const command = sessions
    .command("list")
    .description("list the sessions of a store, the last active first; also while a Host writes it")
    .argument("[store]", "store to read, in place of a flag")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("--cwd <path>", "only sessions that worked in this folder, or below it"))
    .addOption(
      new Option(
        "--since <when>",
        "only sessions that were active since a date, a time, or an age such as 12h, 7d or 2w",
      ),
    )
    .addOption(
      new Option("--state <state>", "only sessions in one of these states, such as ok,interrupted").argParser(
        collected,
      ),
    )
    .addOption(new Option("--parent <id>", "only sessions that began as forks of this one"))
    .addOption(new Option("--grep <text>", "only sessions with this in their title, in any letter case"))
    .addOption(new Option("--limit <number>", "list so many at most, and say how to go on"))
    .addOption(new Option("--cursor <cursor>", "go on behind the list that told this"))
    .addOption(new Option("--check", "read every session whole, and look at the store below them"))
    .addOption(new Option("--no-cache", "read every session, and keep nothing of it"))
    .addOption(
      new Option("--ids", "print only the ids, one a line, without reading a session").conflicts(filters),
    )
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions list --session-db ./data/agent.db\n  holdfast sessions list ./sessions --cwd . --since 7d --limit 20\n`,
    )
    .addHelpText("after", `${STORES}`);
  command.action(async (store, { json, check, ids, cache, ...options }) => {
    const { list, listIds } = await import("./list/list.ts");
    const raw = rawOptions(command, options);
    if (ids === true) return finish(await listIds(raw, store));
    finish(await list(raw, store, { ...options, json: json === true, check: check === true, cache }));
  });
}

function addShow(sessions: Command, finish: (code: number) => void): void {
  const command = sessions
    .command("show")
    .description("show what was said in a session; also of a damaged one, as far as it goes")
    .argument("<id>", "session to show")
    .argument("[store]", "store to read, in place of a flag")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("--full", "shorten nothing, and show reasoning"))
    .addOption(new Option("--from <seq>", "begin with this event"))
    .addOption(new Option("--to <seq>", "end with this event"))
    .addOption(
      new Option("--turn <number>", "only this Turn, or those from one to another: 3..5").conflicts([
        "from",
        "to",
      ]),
    )
    .addOption(new Option("--events", "print every event as it is stored, one a line").conflicts("full"))
    .addOption(new Option("--json", "print one JSON object").conflicts(["events", "full"]))
    .addOption(new Option("--no-pager", "do not use a pager on a terminal"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions show default ./data/agent.db\n  holdfast sessions show default ./data/agent.db --turn 3 --full\n`,
    )
    .addHelpText(
      "after",
      `${STORES}\n\nThe beginning of an id is enough where no other id begins like that. On a\nterminal HOLDFAST_PAGER or PAGER names the pager; less is used without them.`,
    );
  command.action(async (id, store, { json, events, full, from, to, turn, pager, ...options }) => {
    const { show } = await import("./show/show.ts");
    const form = events === true ? "events" : json === true ? "json" : "text";
    const what = { form, full: full === true, from, to, turn, pager } as const;
    finish(await show(rawOptions(command, options), store, id, what));
  });
}

function addCopy(sessions: Command, finish: (code: number) => void): void {
  sessions
    .command("copy")
    .description("copy sessions from one store to another, and read the copies back")
    .argument("[id...]", "sessions to copy")
    .requiredOption("--from <store>", "store to read; it is not changed")
    .requiredOption("--to <store>", "store to write; made when it does not exist")
    .addOption(new Option("--all", "copy every session"))
    .addOption(
      flag("--jsonl-encoding <name>", "how new session logs are written").choices(["zstd", "none"] as const),
    )
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Example:\n  holdfast sessions copy --all --from ./data/agent.db --to jsonl:./sessions\n`,
    )
    .addHelpText(
      "after",
      `${STORES}\n\nCtrl-C stops between two writes; the same command goes on from there.`,
    )
    .action(async (ids, { from, to, all, json, jsonlEncoding: encoding }) => {
      const { copy } = await import("./copy.ts");
      const chosen = encoding === undefined ? {} : { encoding };
      finish(await copy(ids, { from, to, all: all === true, json: json === true, ...chosen }));
    });
}

function addVerify(sessions: Command, finish: (code: number) => void): void {
  const command = sessions
    .command("verify")
    .description("check a store and its sessions, and say what is wrong; reads only")
    .argument("[store]", "store to check, in place of a flag")
    .argument("[id...]", "sessions to check; all when none is named")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("--all", "check every session, as without any id"))
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions verify ./data/agent.db\n  holdfast sessions verify default --session-db ./data/agent.db\n`,
    )
    .addHelpText("after", `${STORES}\n\nExits with 5 when something is wrong.`);
  command.action(async (store, ids, { all, json, ...options }) => {
    const { verify } = await import("./verify.ts");
    const args = store === undefined ? [] : [store, ...ids];
    finish(await verify(rawOptions(command, options), args, { all: all === true, json: json === true }));
  });
}

function addRepair(sessions: Command, finish: (code: number) => void): void {
  const command = sessions
    .command("repair")
    .description("make damaged sessions sound again, with a backup, and with all that is cut set aside")
    .argument("[store]", "store to repair, in place of a flag")
    .argument("[id...]", "sessions to repair; all that need it when none is named")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .addOption(new Option("--dry-run", "only say what would be done"))
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions repair --dry-run ./data/agent.db\n  holdfast sessions repair default --session-db ./data/agent.db\n`,
    )
    .addHelpText("after", `${STORES}\n\nThe store must not be in use.`);
  command.action(async (store, ids, { dryRun, json, ...options }) => {
    const { repair } = await import("./repair.ts");
    const flags = { dryRun: dryRun === true, json: json === true };
    const args = store === undefined ? [] : [store, ...ids];
    finish(await repair(rawOptions(command, options), args, flags));
  });
}

function addSalvage(sessions: Command, finish: (code: number) => void): void {
  sessions
    .command("salvage")
    .description("take all that is left of damaged sessions over into new ones")
    .argument("[id...]", "sessions to salvage; all damaged ones when none is named")
    .requiredOption(
      "--from <file>",
      "log, database, backup, quarantine file or store to read; it is not changed",
    )
    .requiredOption("--to <store>", "store to write; made when it does not exist")
    .addOption(new Option("--id <id>", "id of the new session; else it is made of the old one"))
    .addOption(new Option("--all", "sound sessions of a store, too"))
    .addOption(
      flag("--jsonl-encoding <name>", "how new session logs are written").choices(["zstd", "none"] as const),
    )
    .addOption(new Option("--json", "print one JSON object a line"))
    .addHelpText(
      "before",
      `Example:\n  holdfast sessions salvage --from ./broken/session.jsonl.zstd --to ./data/agent.db\n`,
    )
    .addHelpText("after", `${STORES}`)
    .action(async (ids, { from, to, id, all, json, jsonlEncoding: encoding }) => {
      const { salvage } = await import("./salvage.ts");
      const chosen = { ...(id === undefined ? {} : { id }), ...(encoding === undefined ? {} : { encoding }) };
      finish(await salvage(ids, { from, to, all: all === true, json: json === true, ...chosen }));
    });
}

const storeFlags = {
  db: () => flag("--session-db <path>", "SQLite file that keeps the sessions"),
  dir: () => flag("--session-dir <root>", "folder of session logs"),
};

function addBackup(sessions: Command, finish: (code: number) => void): void {
  const command = sessions
    .command("backup")
    .description(
      "write a backup of a whole store, also while a Host writes it, and compare it with the store",
    )
    .argument("[store]", "store to read, in place of a flag")
    .addOption(storeFlags.db())
    .addOption(storeFlags.dir())
    .requiredOption("--to <path>", "file, or folder for session logs, to make; nothing may lie there")
    .addOption(new Option("--json", "print one JSON object"))
    .addHelpText(
      "before",
      `Examples:\n  holdfast sessions backup ./data/agent.db --to ./backup.db\n  holdfast sessions backup --session-dir ./sessions --to ./sessions-backup\n`,
    )
    .addHelpText("after", `${STORES}`);
  command.action(async (store, { json, to, ...options }) => {
    const { backup } = await import("./backup.ts");
    finish(await backup(rawOptions(command, options), store, { to, json: json === true }));
  });
}

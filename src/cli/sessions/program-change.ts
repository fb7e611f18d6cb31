import { type Command, Option } from "@commander-js/extra-typings";
import { flag, rawOptions } from "../options.ts";

/* The commands below `holdfast sessions` that make, name and delete sessions. `stores` ends their help. */

export function addFork(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("fork")
    .description("begin a new session with a copy of another one, up to the end of a Turn")
    .argument("<id>", "session to fork; it is left as it is")
    .argument("[store]", "store that has it, in place of a flag")
    .addOption(db())
    .addOption(dir())
    .addOption(new Option("--at <seq>", "seq of the turn/end to fork after; the last one without this"))
    .addOption(new Option("--turn <number>", "number of the Turn to fork after").conflicts("at"))
    .addOption(new Option("--session-id <id>", "id of the new session; one is made without this"))
    .addOption(json("print one JSON object"))
    .addHelpText("before", example("fork default ./data/agent.db --turn 2 --session-id retry"))
    .addHelpText("after", `${stores}\n\nThe store must not be in use.`);
  command.action(async (id, store, { at, turn, sessionId, json: isJson, ...options }) => {
    const { fork } = await import("./fork.ts");
    const chosen = {
      ...(at === undefined ? {} : { at }),
      ...(turn === undefined ? {} : { turn }),
      ...(sessionId === undefined ? {} : { newId: sessionId }),
    };
    finish(await fork(rawOptions(command, options), store, id, { ...chosen, json: isJson === true }));
  });
}

export function addRename(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("rename")
    .description("give a session a title")
    .argument("<id>", "session to name")
    .argument("<title>", "its new title, one line")
    .argument("[store]", "store that has it, in place of a flag")
    .addOption(db())
    .addOption(dir())
    .addOption(json("print one JSON object"))
    .addHelpText("before", example("rename default 'Where the milk is' ./data/agent.db"))
    .addHelpText("after", `${stores}\n\nThe store must not be in use.`);
  command.action(async (id, title, store, { json: isJson, ...options }) => {
    const { rename } = await import("./rename.ts");
    finish(await rename(rawOptions(command, options), store, id, title, { json: isJson === true }));
  });
}

export function addDelete(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("delete")
    .description("move sessions to a trash folder beside the store; also damaged ones")
    .argument("[store]", "store that has them, in place of a flag")
    .argument("[id...]", "sessions to delete")
    .addOption(db())
    .addOption(dir())
    .addOption(yes())
    .addOption(purge())
    .addOption(json("print one JSON object a line"))
    .addHelpText("before", example("delete default other --session-db ./data/agent.db"))
    .addHelpText("after", `${stores}\n\nThe store must not be in use.`);
  command.action(async (store, ids, { yes: isYes, purge: isPurge, json: isJson, ...options }) => {
    const { deleteSessions } = await import("./removal/delete.ts");
    const flags = { yes: isYes === true, purge: isPurge === true, json: isJson === true };
    const args = store === undefined ? [] : [store, ...ids];
    finish(await deleteSessions(rawOptions(command, options), args, flags));
  });
}

export function addPrune(sessions: Command, finish: (code: number) => void, stores: string): void {
  const command = sessions
    .command("prune")
    .description("delete the sessions in which nothing has happened for long")
    .argument("[store]", "store to prune, in place of a flag")
    .requiredOption("--older-than <age>", "how long ago it was last active: 12h, 30d, 2w")
    .addOption(new Option("--keep <number>", "keep so many sessions in any case, the last active ones"))
    .addOption(new Option("--dry-run", "only say what would be deleted"))
    .addOption(db())
    .addOption(dir())
    .addOption(yes())
    .addOption(purge())
    .addOption(json("print one JSON object a line"))
    .addHelpText("before", example("prune --older-than 30d --keep 10 --dry-run ./data/agent.db"))
    .addHelpText("after", `${stores}\n\nThe store must not be in use.`);
  command.action(
    async (
      store,
      { olderThan, keep, dryRun, yes: isYes, purge: isPurge, json: isJson, sessionDb, sessionDir },
    ) => {
      const { prune } = await import("./removal/prune.ts");
      const flags = {
        olderThan,
        ...(keep === undefined ? {} : { keep }),
        dryRun: dryRun === true,
        yes: isYes === true,
        purge: isPurge === true,
        json: isJson === true,
      };
      finish(await prune(rawOptions(command, { sessionDb, sessionDir }), store, flags));
    },
  );
}

const db = () => flag("--session-db <path>", "SQLite file that keeps the sessions");
const dir = () => flag("--session-dir <root>", "folder of session logs");
const json = (description: string) => new Option("--json", description);
const yes = () => new Option("--yes", "delete without a question");
const purge = () => new Option("--purge", "delete for good, and move nothing to the trash");

function example(words: string): string {
  return `Example:\n  holdfast sessions ${words}\n`;
}

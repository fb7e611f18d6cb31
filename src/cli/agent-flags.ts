import { type Command, Option } from "@commander-js/extra-typings";
import { UsageError } from "../host/usage.ts";
import { flag } from "./options.ts";

/** What the help of a command with these flags says of them all. */
export const SETTINGS_HELP = `Each flag can be given as a variable too: --session-db as HOLDFAST_SESSION_DB,
and so on; or in the JSON file of --config, as "sessionDb". Flags win over
variables, those over the file.
Secrets are never flags: --api-key-env names the variable that holds an API key.`;

/** Adds the flags of everything that runs an agent. */
export function withAgentFlags(command: Command): Command {
  for (const option of [...agentFlags(), ...secretFlags()]) command.addOption(option);
  return command;
}

function agentFlags(): Option[] {
  return [
    flag("--config <file>", "JSON file with settings, named as the flags are in camel case"),
    flag("--session-db <path>", "SQLite file that keeps the sessions"),
    flag("--session-dir <root>", "folder of session logs that keeps the sessions"),
    flag("--jsonl-encoding <name>", "how new session logs are written: zstd or none"),
    flag("--session-id <id>", "session to create or go on with (default: default)"),
    flag("--fork-from <id>", "begin the session with a copy of this one"),
    flag("--at <seq>", "seq of the turn/end to fork after; the last one without this"),
    flag("--provider <name>", "demo, openai-compatible or anthropic (default: demo)"),
    flag("--model <name>", "model to ask"),
    flag("--base-url <url>", "base URL of the provider, such as http://localhost:11434/v1"),
    flag("--api-key-env <name>", "variable that holds the API key"),
    flag("--reasoning-effort <level>", "how much to reason, as the provider names it"),
    flag("--temperature <number>", "how freely to pick words"),
    flag("--max-tokens <number>", "most tokens of one answer"),
    flag("--stop <text>", "text that ends the answer; may be repeated").argParser(collect),
    flag("--extra-body <json>", "further members of the model request, as a JSON object"),
    flag("--connect-timeout <seconds>", "longest wait for a model to begin its answer (default: 120)"),
    flag("--idle-timeout <seconds>", "longest silence within a model answer (default: 300)"),
    flag("--request-timeout <seconds>", "longest time for one model answer (default: 600)"),
    flag("--retries <number>", "how often to try a failed model request again (default: 2)"),
    flag("--max-steps <number>", "most model requests in one Turn (default: 32)"),
    flag("--tool-timeout <seconds>", "longest time for one tool call (default: 120)"),
    flag("--workspace <folder>", "folder that the tools may read (default: .)"),
    flag("--system-prompt-file <file>", "file with the system prompt"),
    flag("--chunk-window <ms>", "how long streamed deltas may wait to be saved together (default: 100)"),
    flag("--drain-timeout <seconds>", "longest time for shutting down (default: 10)"),
  ];
}

/** The flags of a Host beside those of its agent. */
export function listenFlags(): Option[] {
  return [
    flag("--host <address>", "address to listen on (default: 127.0.0.1)"),
    flag("--port <number>", "port to listen on; 0 picks one (default: 8765)"),
    flag("--listen <address>", "unix:PATH, a socket to listen on in place of a port"),
    flag("--token-file <file>", "file with the token that HTTP clients must send"),
    flag("--max-queue <number>", "most invocations that may wait (default: 64)"),
  ];
}

/** What people expect to be flags, and other users of the machine could read in the list of processes. */
function secretFlags(): Option[] {
  return ["--api-key <key>", "--token <token>"].map((flags) =>
    new Option(flags).hideHelp().argParser(() => {
      throw new UsageError(
        `${flags.split(" ")[0]} is no flag: arguments of a process can be read by others`,
        "Put an API key into a variable and name it with --api-key-env; a token of HTTP clients into HOLDFAST_TOKEN.",
      );
    }),
  );
}

/** A flag that may be repeated: a text, or several in order. */
function collect(value: string, before: unknown): unknown {
  return before === undefined ? value : [before, value].flat();
}

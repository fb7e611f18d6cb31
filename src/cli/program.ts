import { Argument, Command, CommanderError, Option } from "@commander-js/extra-typings";
import { versionInfo } from "../host/version.ts";
import { listenFlags, SETTINGS_HELP, withAgentFlags } from "./agent-flags.ts";
import { EXIT } from "./exit-codes.ts";
import { flag, rawOptions, WRAPPED } from "./options.ts";
import { addSessions, STORES } from "./sessions/program.ts";
import { assertCommand, assertValues, usageErrorOf, withHelpHint } from "./usage-errors.ts";

/** Runs the command that `args` name and returns the exit code. Each command's module is loaded when it is called. */
export async function run(args: readonly string[]): Promise<number> {
  let code: number = EXIT.ok;
  const program = createProgram((exitCode) => {
    code = exitCode;
  });
  assertCommand(program, args);
  assertValues(program, args);
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw withHelpHint(program, args, error);
    if (error.message.startsWith("error: ")) throw await usageErrorOf(program, args, error);
    // The help or the version was printed: the help, on stderr, also where a command is missing, which is a mistake.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
}

/** All commands. @param finish told the exit code of the one that was run */
export function createProgram(finish: (code: number) => void): Command {
  const program = new Command("holdfast")
    .description("A durable home for agent sessions: every event is on the disk before anyone can see it.")
    .version(versionInfo().version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .configureHelp(WRAPPED)
    .addHelpText(
      "before",
      `Examples:
  holdfast serve --session-db ./data/agent.db
  holdfast chat --session-db ./data/agent.db
  holdfast sessions list ./data/agent.db
`,
    )
    .exitOverride()
    // Mistakes are told as all others are.
    .configureOutput({ outputError: () => {} });
  addServe(program, finish);
  addInvoke(program, finish);
  addChat(program, finish);
  addSessions(program, finish);
  addDoctor(program, finish);
  addConfig(program, finish);
  addCompletions(program, finish);
  return program;
}

function addServe(program: Command, finish: (code: number) => void): void {
  const command = withAgentFlags(
    program.command("serve").description("run an agent on one session and serve it over HTTP"),
  );
  for (const option of listenFlags()) command.addOption(option);
  command
    .addHelpText(
      "before",
      `Examples:
  holdfast serve --session-db ./data/agent.db
  holdfast serve --session-db ./data/agent.db --provider openai-compatible \\
    --base-url https://api.deepseek.com/v1 --model deepseek-chat --api-key-env DEEPSEEK_API_KEY
  holdfast serve --session-db ./data/agent.db --fork-from default --session-id second-try
`,
    )
    .addHelpText(
      "after",
      `
Without --session-db and --session-dir the session lives in memory and ends
with the process.
${SETTINGS_HELP}
HOLDFAST_TOKEN holds the token that HTTP clients must send; beyond 127.0.0.1
there must be one.`,
    );
  command.action(async (options) => {
    const { serve } = await import("./serve.ts");
    finish(await serve(rawOptions(command, options)));
  });
}

function addInvoke(program: Command, finish: (code: number) => void): void {
  const base = program
    .command("invoke")
    .description("run one Turn: send one input to a Host, or to a store that no Host holds")
    .usage("[options] <text>");
  base.addOption(flag("--url <url>", "address of the Host, or unix:PATH (default: http://127.0.0.1:8765)"));
  base.addOption(new Option("--json", "print one JSON object"));
  const command = withAgentFlags(base).argument("[text]", "what to say; - reads it from stdin");
  command
    .addHelpText(
      "before",
      `Examples:
  holdfast invoke 'What is in this folder?'
  git diff | holdfast invoke --session-db ./data/reviews.db -
`,
    )
    .addHelpText(
      "after",
      `
With --session-db or --session-dir the Turn runs in this process, and the other
flags are for that. A Host takes only --provider and --model, together, which
pick one of its routes; HOLDFAST_TOKEN is sent to it.
${SETTINGS_HELP}
A terminal is shown the Turn while it runs; a pipe gets the text of the answer.
Ctrl-C cancels the Turn.`,
    );
  command.action(async (text, options) => {
    const { invoke } = await import("./invoke.ts");
    const { json, ...raw } = rawOptions(command, options);
    finish(await invoke(text, raw, json?.value === true));
  });
}

function addChat(program: Command, finish: (code: number) => void): void {
  const command = withAgentFlags(
    program.command("chat").description("talk with an agent on one session, in this terminal"),
  );
  command
    .addHelpText(
      "before",
      `Examples:
  holdfast chat --session-db ./data/agent.db
  holdfast chat --session-db ./data/agent.db --provider openai-compatible \\
    --base-url http://localhost:11434/v1 --model llama3.2
`,
    )
    .addHelpText(
      "after",
      `
Without --session-db and --session-dir the session lives in memory and ends
with the process.
${SETTINGS_HELP}
/help in a conversation tells of its keys and commands. Input that comes from a
pipe is taken line by line.`,
    );
  command.action(async (options) => {
    const { chat } = await import("./chat/chat.ts");
    finish(await chat(rawOptions(command, options)));
  });
}

function addDoctor(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("doctor")
    .description("say how durable a store is, who holds it, and what to do")
    .argument("[store]", "store to look at, in place of a flag")
    .addOption(flag("--config <file>", "JSON file with settings; the store that it names is looked at"))
    .addOption(flag("--session-db <path>", "SQLite file that keeps the sessions"))
    .addOption(flag("--session-dir <root>", "folder of session logs"))
    .addOption(new Option("--no-write", "write nothing at all: no sync is measured, no store tried"))
    .addOption(new Option("--json", "print one JSON object"))
    .addHelpText("before", `Example:\n  holdfast doctor --session-db ./data/agent.db\n`)
    .addHelpText("after", `${STORES}`);
  command.action(async (store, { json, write, ...options }) => {
    const { doctor } = await import("./doctor/doctor.ts");
    finish(await doctor(rawOptions(command, options), store, { json: json === true, write }));
  });
}

function addConfig(program: Command, finish: (code: number) => void): void {
  const base = program
    .command("config")
    .description("print the settings that serve would run with, and where each came from")
    .addOption(new Option("--json", "print one JSON object"));
  const command = withAgentFlags(base);
  for (const option of listenFlags()) command.addOption(option);
  command
    .addHelpText(
      "before",
      `Examples:
  holdfast config
  holdfast config --config ./holdfast.json --json
`,
    )
    .addHelpText(
      "after",
      `
${SETTINGS_HELP}
Secrets are not printed: of an API key and of the token it is said whether they
are set, and where.`,
    );
  command.action(async (options) => {
    const { config } = await import("./config.ts");
    const { json, ...raw } = rawOptions(command, options);
    finish(await config(raw, json?.value === true));
  });
}

function addCompletions(program: Command, finish: (code: number) => void): void {
  program
    .command("completions")
    .description("print a script that completes commands, flags and values in a shell")
    .addArgument(new Argument("<shell>", "shell to complete in").choices(["bash", "zsh", "fish"] as const))
    .addHelpText(
      "before",
      `Examples:
  source <(holdfast completions bash)
  source <(holdfast completions zsh)
  holdfast completions fish > ~/.config/fish/completions/holdfast.fish
`,
    )
    .addHelpText(
      "after",
      `
Ids of sessions are completed too, where an argument or a flag before them, or
a variable, names the store.`,
    )
    .action(async (shell) => {
      const { completions } = await import("./completions/completions.ts");
      finish(await completions(shell, program));
    });
}

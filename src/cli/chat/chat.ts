import { parseRuntimeConfig } from "../../host/config.ts";
import type { Runtime } from "../../host/runtime.ts";
import type { RawOptions } from "../../host/usage.ts";
import { HoldfastError } from "../../session/errors.ts";
import { clip } from "../../session/text.ts";
import { STORE_ERROR_TABLE } from "../../store/errors.ts";
import { LocalSource } from "../conversation/local-source.ts";
import { openLocal } from "../conversation/open-local.ts";
import { earlyEnd, runTurn } from "../conversation/source.ts";
import { TerminalView, terminalStyle } from "../conversation/terminal-view.ts";
import { EXIT, reportError } from "../exit-codes.ts";
import { Output } from "../output.ts";
import { printableLine } from "../printable.ts";
import { outputStyle, TranscriptStyle } from "../sessions/show/transcript-style.ts";
import { StopSignals } from "../stop-signals.ts";
import { hanging, outputColumns } from "../wrap.ts";
import type { Entry } from "./assembler.ts";
import { type Inputs, PipedInputs } from "./inputs.ts";
import { inputHistory, openingText } from "./opening.ts";
import { TerminalInputs } from "./terminal-inputs.ts";

const HELP = [
  "An input is one line. A line that ends in \\ goes on with the next one.",
  'A line of """ opens a block of lines, and another one closes it.',
  "An input that begins with a slash is written with two.",
  "/exit or Ctrl-D leaves, also while an answer is made.",
  "Ctrl-C stops the answer, or empties the line.",
];

/** Errors of a store after which the next Turn may do better. */
const GOES_ON = new Set<string>(["storage-full", "storage-failed", "not-serialisable", "invalid-event"]);

/** `holdfast chat`: a conversation at a terminal, or of inputs from a pipe, with an agent in this process. */
export async function chat(raw: RawOptions): Promise<number> {
  const config = parseRuntimeConfig(raw, process.env);
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  using stop = new StopSignals(isTerminal ? ["SIGTERM", "SIGHUP"] : ["SIGINT", "SIGTERM", "SIGHUP"]);
  await using runtime = await openLocal(config);
  const conversation = new Conversation(runtime, stop);
  if (!isTerminal) return await conversation.holdPiped();
  return await conversation.holdAtTerminal(
    openingText(runtime, config, new TranscriptStyle(outputStyle(process.env, process.stdout))),
  );
}

class Conversation {
  readonly #runtime: Runtime;
  readonly #source: LocalSource;
  readonly #stop: StopSignals;
  readonly #output = new Output(true);
  /** Cancels the Turn that runs, or the next one. */
  #cancel = new AbortController();

  constructor(runtime: Runtime, stop: StopSignals) {
    this.#runtime = runtime;
    this.#source = new LocalSource(runtime, () => crypto.randomUUID());
    this.#stop = stop;
    stop.signal.addEventListener("abort", () => this.#cancel.abort());
  }

  /** @returns the exit code of the first Turn that failed, if one did */
  async holdPiped(): Promise<number> {
    await using inputs = new PipedInputs(this.#stop.signal);
    return this.#stop.code ?? (await this.#hold(inputs));
  }

  /** Whoever sits there has seen what failed. */
  async holdAtTerminal(opening: string): Promise<number> {
    await this.#print(opening);
    await using inputs = new TerminalInputs(inputHistory(this.#runtime), process.env["TERM"] === "dumb", {
      onInterrupt: (times) => this.#interrupt(times),
      onLeave: () => this.#cancel.abort(),
    });
    const interrupt = () => inputs.interrupt();
    const close = () => inputs.close();
    process.on("SIGINT", interrupt);
    this.#stop.signal.addEventListener("abort", close);
    try {
      if (!this.#stop.signal.aborted) await this.#hold(inputs);
    } finally {
      process.off("SIGINT", interrupt);
      this.#stop.signal.removeEventListener("abort", close);
    }
    return this.#stop.code ?? EXIT.ok;
  }

  async #hold(inputs: Inputs): Promise<number> {
    let code: number = EXIT.ok;
    // Nobody is answered whose output goes nowhere.
    while (this.#stop.code === undefined && this.#output.exitCode === undefined) {
      this.#cancel = new AbortController();
      const entry = await inputs.next();
      if (entry === undefined) break;
      const ended = await this.#take(entry);
      if (ended === undefined) break;
      if (code === EXIT.ok) code = ended;
    }
    return this.#stop.code ?? this.#output.exitCode ?? code;
  }

  /** Nothing when it says to leave. */
  async #take(entry: Entry): Promise<number | undefined> {
    if (entry.kind === "input") return await this.#turn(entry.text);
    if (entry.kind === "command") return await this.#command(entry.name);
    const { text } = entry;
    await this.#print(
      `${hanging(`(“${text}” was not sent: /exit or Ctrl-D leaves. Between two lines of """ it is an input.)`, outputColumns(), " ")}\n`,
    );
    return EXIT.ok;
  }

  /** Runs one Turn and says how it ended. @throws HoldfastError when there can be no other one */
  async #turn(input: string): Promise<number> {
    const isShown = process.stdout.isTTY === true;
    const view = isShown ? new TerminalView(this.#output, terminalStyle(process.env)) : undefined;
    try {
      const answer = await runTurn(this.#source, input, view, this.#cancel.signal);
      const { message } = answer;
      if (!isShown && message !== "") await this.#print(message.endsWith("\n") ? message : `${message}\n`);
      if (isShown) await this.#print("\n");
      const early = earlyEnd(answer);
      if (early === undefined) return EXIT.ok;
      process.stderr.write(`holdfast: ${printableLine(early)}\n`);
      return EXIT.failure;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (error.code === "invocation-cancelled") {
        if (isShown) await this.#print("[stopped]\n\n");
        return EXIT.interrupted;
      }
      if (error.code in STORE_ERROR_TABLE && !GOES_ON.has(error.code)) throw error;
      return reportError(error);
    }
  }

  /** Nothing when it says to leave. */
  async #command(name: string): Promise<number | undefined> {
    if (name === "exit") return undefined;
    if (name === "help") {
      const columns = outputColumns();
      await this.#print(HELP.map((line) => `${hanging(line, columns, "  ")}\n`).join(""));
      return EXIT.ok;
    }
    const shown = printableLine(clip(name, 40));
    process.stderr.write(
      `holdfast: There is no command /${shown}\n` +
        `  hint: /help tells of those there are, /exit leaves. With two slashes it is an input: //${shown}\n`,
    );
    return EXIT.usage;
  }

  #interrupt(times: number): void {
    if (times === 1) this.#cancel.abort();
    else if (times > 2) process.exit(EXIT.interrupted);
    else
      process.stderr.write("\nholdfast: the Turn is being ended; Ctrl-C once more leaves without waiting\n");
  }

  async #print(text: string): Promise<void> {
    await this.#output.write(text);
    await this.#output.flush();
  }
}

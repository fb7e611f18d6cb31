import type { RuntimeConfig } from "../host/config.ts";
import { type RawOptions, UsageError } from "../host/usage.ts";
import { HoldfastError } from "../session/errors.ts";
import { type Answer, earlyEnd, runTurn, type TurnSource } from "./conversation/source.ts";
import { EXIT, reportError } from "./exit-codes.ts";
import { type InvokeTarget, invokeTarget } from "./invoke-target.ts";
import { jsonText } from "./json-text.ts";
import { Output } from "./output.ts";
import { printableLine } from "./printable.ts";
import { StopSignals } from "./stop-signals.ts";

/**
 * `holdfast invoke`: one Turn, on a running Host or on a store. A terminal is shown the Turn while it runs; anything else
 * gets the text of the answer, or one JSON object.
 */
export async function invoke(argument: string | undefined, raw: RawOptions, json: boolean): Promise<number> {
  const target = await invokeTarget(raw, process.env);
  const input = await readInput(argument);
  using stop = new StopSignals();
  try {
    return await answer(target, input, json, stop.signal);
  } catch (error) {
    if (stop.code !== undefined) return stop.code;
    if (json && error instanceof HoldfastError && error.code !== "usage") writeJson(problemOf(error));
    return reportError(error);
  }
}

async function readInput(argument: string | undefined): Promise<string> {
  if (argument === undefined) {
    throw new UsageError("The text is missing", "Write it as an argument, or - to read it from stdin.");
  }
  if (argument === "-") return (await import("./conversation/standard-input.ts")).readStandardInput();
  if (argument.trim() !== "") return argument;
  throw new UsageError("The text is empty", "Say something: holdfast invoke 'Hello'");
}

async function answer(
  target: InvokeTarget,
  input: string,
  json: boolean,
  signal: AbortSignal,
): Promise<number> {
  await using resources = new AsyncDisposableStack();
  const source = await openSource(target, resources);
  const isTerminal = process.stdout.isTTY === true;
  const run = json ? runUnseen : isTerminal ? showTurn : keepTurn;
  const turn = await run(source, input, signal);
  if (json) writeJson(turn);
  else if (!isTerminal) writeMessage(turn.message);
  const early = earlyEnd(turn);
  if (early === undefined) return EXIT.ok;
  process.stderr.write(`holdfast: ${printableLine(early)}\n`);
  return EXIT.failure;
}

function runUnseen(source: TurnSource, input: string, signal: AbortSignal): Promise<Answer> {
  return runTurn(source, input, undefined, signal);
}

/** Shows a Turn on the terminal while it runs. */
async function showTurn(source: TurnSource, input: string, signal: AbortSignal): Promise<Answer> {
  const { TerminalView, terminalStyle } = await import("./conversation/terminal-view.ts");
  const view = new TerminalView(new Output(true), terminalStyle(process.env));
  try {
    return await runTurn(source, input, view, signal);
  } catch (error) {
    if (signal.aborted) process.stderr.write("[stopped]\n");
    throw error;
  }
}

/** Of a Turn that is cancelled, writes what there is of its answer. */
async function keepTurn(source: TurnSource, input: string, signal: AbortSignal): Promise<Answer> {
  const { AnswerText } = await import("./conversation/answer-text.ts");
  const kept = new AnswerText();
  try {
    return await runTurn(source, input, kept, signal);
  } catch (error) {
    if (signal.aborted) writeMessage(kept.text);
    throw error;
  }
}

async function openSource(target: InvokeTarget, resources: AsyncDisposableStack): Promise<TurnSource> {
  if (target.kind === "host") {
    const { HostSource } = await import("./conversation/host-source.ts");
    return new HostSource(target.address, target.route, process.env["HOLDFAST_TOKEN"] || undefined);
  }
  const { LocalSource } = await import("./conversation/local-source.ts");
  const runtime = resources.use(await openRuntimeFor(target.config));
  return new LocalSource(runtime, () => crypto.randomUUID());
}

/** @throws StoreInUseError where a Host, most likely, holds the store */
async function openRuntimeFor(config: RuntimeConfig) {
  const { openLocal } = await import("./conversation/open-local.ts");
  try {
    return await openLocal(config);
  } catch (error) {
    throw error instanceof HoldfastError && error.code === "locked" ? new StoreInUseError(error) : error;
  }
}

/** The store is locked; it can be reached through the Host that holds it. */
class StoreInUseError extends HoldfastError {
  readonly code = "locked";

  constructor(cause: HoldfastError) {
    super(cause.message, {
      place: cause.place,
      hint: "If that is a Host, send the input to it with --url URL. Else stop that process, or use another store.",
      cause,
    });
  }
}

function writeMessage(message: string): void {
  if (message !== "") process.stdout.write(message.endsWith("\n") ? message : `${message}\n`);
}

function writeJson(value: object): void {
  process.stdout.write(`${jsonText(value)}\n`);
}

/** The members of a problem that are the same for both kinds of sources. */
function problemOf({ code, message, hint }: HoldfastError): object {
  return { code, detail: message, hint };
}

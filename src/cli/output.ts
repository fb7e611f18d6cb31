import { errorCode } from "../store/errors.ts";
import { EXIT } from "./exit-codes.ts";

/** Text is handed to the system in pieces of about this size. */
const PIECE = 64 * 1024;

/** Nobody takes the output any more. */
class OutputEnded extends Error {}

/** Standard output for what may be long: never holds more than a piece, and waits for a slow reader. */
export class Output {
  #pending: string[] = [];
  #length = 0;
  #fault: string | undefined;
  readonly #goesOn: boolean;

  /** @param goesOn whether what nobody takes any more is dropped, in place of an end of the command */
  constructor(goesOn: boolean) {
    this.#goesOn = goesOn;
    process.stdout.on("error", (error) => {
      this.#fault ??= errorCode(error) ?? "unknown";
    });
  }

  /** Exit code where the output ended early: a reader that has seen enough is no failure. */
  get exitCode(): number | undefined {
    if (this.#fault === undefined) return undefined;
    return this.#fault === "EPIPE" ? EXIT.ok : EXIT.failure;
  }

  /** Takes text; may keep it back until there is more of it. */
  async write(text: string): Promise<void> {
    this.#pending.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) await this.flush();
  }

  /** Hands over what was kept back, and waits until there is room for more. */
  async flush(): Promise<void> {
    const text = this.#pending.join("");
    this.#pending = [];
    this.#length = 0;
    if (this.#fault === undefined && text !== "" && !process.stdout.write(text)) await drained();
    if (this.#fault !== undefined && !this.#goesOn) throw new OutputEnded();
  }
}

/** Runs a command that prints and only reads. It is cut short when its output ends, and what it holds is freed. */
export async function printing(command: (output: Output) => Promise<number>): Promise<number> {
  const output = new Output(false);
  try {
    const code = await command(output);
    await output.flush();
    return output.exitCode ?? code;
  } catch (error) {
    if (!(error instanceof OutputEnded)) throw error;
    return output.exitCode ?? EXIT.failure;
  }
}

/** Runs a command that changes something, and prints what. It does its work to the end, whether anybody reads or not. */
export async function printingOn(command: (output: Output) => Promise<number>): Promise<number> {
  const output = new Output(true);
  const code = await command(output);
  await output.flush();
  return code === EXIT.ok ? (output.exitCode ?? code) : code;
}

/** Resolves when standard output takes more, or never will. */
function drained(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = ["drain", "error", "close"] as const;
  const done = () => {
    for (const event of events) process.stdout.off(event, done);
    resolve();
  };
  for (const event of events) process.stdout.on(event, done);
  return promise;
}

import { errorCode } from "../store/errors.ts";
import { EXIT } from "./exit-codes.ts";
import { type Output, printing } from "./output.ts";
import { printableLine } from "./printable.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** What text for people is written to: standard output, or a pager. */
export type TextOutput = Pick<Output, "write" | "flush">;

/** Told when all was written, and no pager has the terminal any more. Returns the exit code. */
export type Ending = () => number;

/** Text is handed to the pager in pieces of about this size. */
const PIECE = 64 * 1024;
/** What a shell exits with where it cannot run a command, or finds none. */
const NOT_RUN: ReadonlySet<number | null> = new Set([126, 127]);
/** What `less` is told where nothing else is said: leave when all fits the screen, pass styles on, leave the text there. */
const LESS = "FRX";

/**
 * The command of the pager: `$HOLDFAST_PAGER`, `$PAGER`, or else `less`. Nothing where it is `cat` or set to nothing, or
 * where there is no `less`.
 */
export function pagerCommand(
  variables: Variables,
  find: (name: string) => string | null = Bun.which,
): readonly string[] | undefined {
  const { HOLDFAST_PAGER, PAGER, TERM } = variables;
  const asked = (HOLDFAST_PAGER ?? "") === "" ? PAGER : HOLDFAST_PAGER;
  if (asked === undefined) {
    // It would ask before it goes on.
    if ((TERM ?? "dumb") === "dumb" || find("less") === null) return undefined;
    return ["less", `-${LESS}`];
  }
  const command = asked.trim();
  return command === "" || command === "cat" ? undefined : ["sh", "-c", command];
}

/**
 * Runs a command that prints for people and only reads: through a pager where standard output is a terminal, unless it is
 * not wanted. A pager that is left early cuts the command short, and is no error.
 */
export function paging(isWanted: boolean, command: (output: TextOutput) => Promise<Ending>): Promise<number> {
  const pager =
    isWanted && process.stdout.isTTY === true && process.platform !== "win32"
      ? pagerCommand(process.env)
      : undefined;
  if (pager !== undefined) return page(pager, command);
  return printing(async (output) => {
    const end = await command(output);
    await output.flush();
    return end();
  });
}

async function page(
  pager: readonly string[],
  command: (output: TextOutput) => Promise<Ending>,
): Promise<number> {
  const output = new PagerOutput(pager);
  // Ctrl-C is for the pager, which may only stop a search.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  let end: Ending | undefined;
  try {
    end = await command(output);
    await output.flush();
  } catch (error) {
    if (!(error instanceof PagerLeft)) throw error;
  } finally {
    await output.close();
    process.off("SIGINT", ignore);
  }
  if (NOT_RUN.has(output.exitCode)) {
    process.stderr.write(
      `holdfast: the pager cannot be run: ${printableLine(pager.at(-1) ?? "")}\n  hint: Set HOLDFAST_PAGER or PAGER to one that is there, or use --no-pager.\n`,
    );
    return EXIT.failure;
  }
  return end?.() ?? EXIT.ok;
}

/** Nobody reads any more. */
class PagerLeft extends Error {}

/** Text for a pager, which is started with the first of it. Waits for a slow reader. */
class PagerOutput implements TextOutput {
  readonly #command: readonly string[];
  #child: Bun.Subprocess<"pipe", "inherit", "inherit"> | undefined;
  #pending = "";

  constructor(command: readonly string[]) {
    this.#command = command;
  }

  /** Exit code of the pager that was closed; nothing where it was never started, or a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  async write(text: string): Promise<void> {
    this.#pending += text;
    if (this.#pending.length >= PIECE) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    if (text === "") return;
    this.#child ??= start(this.#command);
    const { stdin } = this.#child;
    try {
      stdin.write(text);
      await stdin.flush();
    } catch (error) {
      if (errorCode(error) !== "EPIPE") throw error;
      throw new PagerLeft();
    }
  }

  /** Waits until the person has read enough. */
  async close(): Promise<void> {
    if (this.#child === undefined) return;
    try {
      await this.#child.stdin.end();
    } catch (error) {
      if (errorCode(error) !== "EPIPE") throw error;
    }
    await this.#child.exited;
  }
}

function start(command: readonly string[]): Bun.Subprocess<"pipe", "inherit", "inherit"> {
  // What steers this very program is not meant for others.
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("BUN_"));
  const env = { LESS, LV: "-c", ...Object.fromEntries(kept) };
  return Bun.spawn([...command], { stdio: ["pipe", "inherit", "inherit"], env });
}

import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { BunFile, Subprocess } from "bun";
import { Follower } from "./follower.ts";
import { ROOT } from "./markdown.ts";
import { installStandIns } from "./stand-ins/install.ts";

/** The executable under test. */
export const EXECUTABLE = resolve(ROOT, process.env["HOLDFAST_EXECUTABLE"] ?? "dist/holdfast");

/** The address that the documentation shows. */
const SHOWN_URL = "http://127.0.0.1:8765";
/** `npm start` installs and builds; then it starts the Host like this (scripts/tasks.ts). */
const NPM_START = "./dist/holdfast serve --session-db data/holdfast.db";

interface RunningHost {
  readonly child: Subprocess<"ignore", "pipe", BunFile>;
  readonly url: string;
}

type AnyChild = Pick<Subprocess, "kill" | "exited">;

/**
 * A folder in which the commands of one page run in order, as in one terminal. Hosts run in the background, each on a
 * free port; the address that the page shows stands for the newest one. Disposing kills what still runs.
 */
export class Scenario implements AsyncDisposable {
  readonly folder: string;
  readonly #root: string;
  readonly #env: Record<string, string>;
  readonly #hosts: RunningHost[] = [];
  readonly #children: AnyChild[] = [];
  #follower: Follower | undefined;

  constructor(files: Readonly<Record<string, string>> = {}) {
    if (!existsSync(EXECUTABLE)) throw new Error(`There is no executable at ${EXECUTABLE}; build it first`);
    this.#root = mkdtempSync(join(tmpdir(), "holdfast-docs-"));
    this.folder = join(this.#root, "work");
    const bin = join(this.#root, "bin");
    for (const folder of [bin, join(this.folder, "dist")]) {
      mkdirSync(folder, { recursive: true });
      symlinkSync(EXECUTABLE, join(folder, "holdfast"));
    }
    installStandIns(bin);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text);
    this.#env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, HOME: this.folder, LC_ALL: "C.UTF-8" };
  }

  /** Address of the newest Host. */
  get url(): string {
    const host = this.#hosts.at(-1);
    if (host === undefined) throw new Error("no Host runs");
    return host.url;
  }

  /**
   * Runs one command and returns what it printed, both streams together, with the address that the page shows.
   * @throws when it exits with another code than `exit`
   */
  async run(command: string, exit = 0): Promise<string> {
    const exported = /^export (\w+)=(\S*)$/.exec(command);
    if (exported !== null) {
      this.#env[exported[1] ?? ""] = exported[2] ?? "";
      return "";
    }
    const runnable = command === "npm start" ? NPM_START : command;
    if (exit === 0 && /^\S*holdfast serve\b/.test(runnable)) return this.#start(runnable);
    if (runnable.endsWith(" &")) return this.#follow(runnable.slice(0, -2));
    const url = this.#hosts.at(-1)?.url;
    const child = Bun.spawn(
      ["sh", "-c", `exec 2>&1; ${url === undefined ? runnable : runnable.replaceAll(SHOWN_URL, url)}`],
      {
        cwd: this.folder,
        env: { ...this.#env, ...(url === undefined ? {} : { HOLDFAST_URL: url }) },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.#children.push(child);
    const output = await child.stdout.text();
    const code = await child.exited;
    if (code !== exit) throw new Error(`\`${command}\` exits with ${code}, not ${exit}:\n${output}`);
    if (/^kill\b/.test(runnable)) await this.#hosts.at(-1)?.child.exited;
    return url === undefined ? output : output.replaceAll(url, SHOWN_URL);
  }

  /**
   * What the command in the background printed, if there is one, when that is as expected; then it is ended with Ctrl-C.
   * @throws when it exits with another code than Ctrl-C has
   */
  async followed(isExpected: (text: string) => boolean): Promise<string> {
    const follower = this.#follower;
    this.#follower = undefined;
    if (follower === undefined) return "";
    const output = await follower.output(isExpected);
    const code = await follower.stop();
    if (code !== 130) throw new Error(`what was followed ends with ${code}, not 130:\n${output}`);
    return output;
  }

  /** Ends the newest Host with a signal and returns its exit code. */
  async stop(signal: "SIGTERM" | "SIGINT"): Promise<number> {
    const host = this.#hosts.at(-1);
    host?.child.kill(signal);
    return (await host?.child.exited) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      child.kill("SIGKILL");
      await child.exited;
    }
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** Starts a command in the background. What comes next runs when it has printed something. */
  async #follow(command: string): Promise<string> {
    const child = Bun.spawn(["sh", "-c", `exec ${command} 2>&1`], {
      cwd: this.folder,
      env: this.#env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    this.#follower = new Follower(child);
    await this.#follower.output((text) => text !== "");
    return "";
  }

  async #start(command: string): Promise<string> {
    const log = Bun.file(join(this.#root, `host-${this.#hosts.length}.log`));
    // `exec`, so that the child is the Host itself.
    const child = Bun.spawn(["sh", "-c", `exec ${command} --port 0`], {
      cwd: this.folder,
      env: this.#env,
      stdio: ["ignore", "pipe", log],
    });
    this.#children.push(child);
    const line = await firstLine(child.stdout);
    if (line === undefined) {
      await child.exited;
      throw new Error(`\`${command}\` did not start: ${await log.text()}`);
    }
    this.#hosts.push({ child, url: line });
    return `${SHOWN_URL}\n`;
  }
}

/** The first line of a stream; nothing when it ends before. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += decoder.decode(value, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
}

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Environment, runCommand } from "../fixtures/executable.ts";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import type { FaultReport } from "../fixtures/faulty-turns.ts";

// Each operation of a whole Turn fails once, perhaps on a busy machine.
setDefaultTimeout(120_000);

const TURNS = join(import.meta.dir, "..", "fixtures", "faulty-turns.ts");
const DRIVER = join(import.meta.dir, "..", "fixtures", "store-driver.ts");
/** A folder in memory where there is one. */
const MEMORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
/** Operations of a Turn in a new store, at least. */
const LEAST = 120;

/** A folder with one for stores in it. */
class Folder implements Disposable {
  readonly path = mkdtempSync(join(MEMORY, "holdfast-faults-"));
  readonly stores = join(this.path, "stores");
  readonly tally = join(this.path, "tally");

  constructor() {
    mkdirSync(this.stores);
  }

  environment(fault: Omit<Fault, "below">): Environment {
    return faultEnvironment({ ...fault, below: this.stores }, this.tally);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe.skipIf(SHIM === undefined)(
  "each file operation of a Turn, SQLite (skipped without the fault shim)",
  () => {
    const FAULTS = [
      ["finds no space", "ENOSPC 1", true],
      ["fails with an I/O error", "EIO 1", true],
      ["is refused", "EACCES 1", true],
      ["finds no space, nor does what follows", "ENOSPC Infinity", true],
      ["fails, and so does what follows", "EIO Infinity", true],
      ["is short", "short 1", false],
      ["is slow", "slow:1 1", false],
    ] as const;

    let made: Promise<readonly FaultReport[]> | undefined;

    /** What came of each of them: one process meets them all, since most of its time goes into getting warm. */
    async function reports(): Promise<readonly FaultReport[]> {
      using folder = new Folder();
      const env = folder.environment({
        on: "any",
        at: 1,
        action: "EIO",
        armed: join(folder.path, "armed"),
      });
      const all = FAULTS.map(([, fault]) => fault);
      const command = [process.execPath, TURNS, folder.path, JSON.stringify(all)];
      const { code, stdout, stderr } = await runCommand(command, { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    }

    test.each(FAULTS)(
      "that %s: what fails is typed and leaves nothing; it works when it is tried again, without a gap",
      async (_, fault, fails) => {
        made ??= reports();
        const report = (await made).find((one) => one.fault === fault);
        expect(report).toMatchObject({ fault, problems: [] });
        expect(report?.count).toBeGreaterThan(LEAST);
        const codes = Object.keys(report?.codes ?? {});
        expect(codes.toSorted()).toEqual(fails ? ["storage-failed", "storage-full"] : []);
      },
    );

    test("a process that is killed before a sync leaves what the next one syncs before anybody reads it", async () => {
      using folder = new Folder();
      const path = join(folder.stores, "store.db");
      const run = (lines: readonly string[], env: Environment) =>
        runCommand(
          ["sh", "-c", `printf '${lines.join("\\n")}\\n' | exec "$0" "$@"`, process.execPath, DRIVER],
          {
            env,
          },
        );
      // The log's own beginning, the first commit, and the second one, which is there and not on the disk.
      const fault = { on: "sync", at: 3, name: "-wal" } as const;
      const commands = [`open\\tsqlite:${path}`, "put\\ts\\t3", "append\\ts\\t3"];
      const killed = await run(commands, folder.environment({ ...fault, action: "kill-before" }));
      expect(killed.stdout).toBe("ready\nok\nok\n");
      rmSync(folder.tally);
      const next = await run(
        commands.slice(0, 1),
        folder.environment({ ...fault, at: 1_000, action: "EIO" }),
      );
      expect(next.stdout).toBe("ready\nok\n");
      expect(readFileSync(folder.tally, "utf8")).toStartWith(`sync ${path}-wal\n`);
    });
  },
);

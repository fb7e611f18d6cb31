import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { printableLine } from "../../src/cli/printable.ts";
import {
  afterRepair,
  afterVerify,
  salvageCommand,
  shellWord,
  showCommand,
} from "../../src/cli/sessions/next-step.ts";
import type { FindingCode } from "../../src/store/finding.ts";
import type { RepairStep } from "../../src/store/repairer.ts";
import { oddString } from "../fixtures/arbitraries.ts";
import { runCommand } from "../fixtures/executable.ts";

const reason = { code: "damaged", message: "A row is damaged", place: {} } as const;

function session(id: string, events: number): RepairStep {
  const files = { location: "a.db", backup: "a.db.backup-1", quarantine: "a.db.quarantine-1" };
  const cut = { bytes: 0, rows: 1, events };
  return { kind: "session", id, reason, keptEvents: 1, cut, closers: 0, header: "kept", ...files };
}

describe("after a check", () => {
  const DATABASE = { kind: "sqlite", path: "it's here/a.db" } as const;

  test.each<readonly [readonly FindingCode[], string]>([
    [["damaged", "tool-pairing"], "repair --dry-run --session-db 'it'\\''s here/a.db'"],
    [["duplicate"], "repair --dry-run --session-db 'it'\\''s here/a.db'"],
    [["tool-pairing", "turn-balance"], "salvage --from 'sqlite:it'\\''s here/a.db' --to STORE"],
  ])("with %p a command for a shell is named that helps", (codes, command) => {
    expect(afterVerify(new Set(codes), [], DATABASE)).toBe(`holdfast sessions ${command}`);
  });

  test("the sessions are named that were asked for", () => {
    const logs = { kind: "jsonl", path: "logs" } as const;
    expect(afterVerify(new Set(["damaged"]), ["a", "b c"], logs)).toBe(
      "holdfast sessions repair --dry-run a 'b c' --session-dir logs",
    );
  });

  test("no id is taken for a flag, nor for a command of the shell", () => {
    const ids = ["-rf", "=ls"];
    expect(afterVerify(new Set(["damaged"]), ids, { kind: "jsonl", path: "logs" })).toBe(
      "holdfast sessions repair --dry-run --session-dir logs -- -rf '=ls'",
    );
    expect(salvageCommand("logs", ids)).toBe("holdfast sessions salvage --from logs --to STORE -- -rf '=ls'");
    expect(showCommand("-rf", { kind: "sqlite", path: "a.db" })).toBe(
      "holdfast sessions show -- -rf sqlite:a.db",
    );
  });
});

// In one shell: a process for each word would take its time.
test.skipIf(process.platform === "win32")(
  "a word is what it was to a shell, and shows no control character",
  async () => {
    const words = fc
      .sample(oddString(), { numRuns: 200, seed: 1 })
      .concat("it's\n\u001b[2J %s \\0 \\c $(x) `x` \"", "-n\t", "=a", "~", "\u202e")
      .filter((text) => text.isWellFormed() && !/\0|\n$/.test(text));
    const shown = words.map(shellWord);
    expect(shown.filter((word) => printableLine(word) !== word)).toEqual([]);
    const { stdout } = await runCommand(["sh", "-c", `printf '%s\\0' ${shown.join(" ")}`], {});
    expect(stdout.split("\0")).toEqual([...words, ""]);
  },
);

describe("after a repair", () => {
  const store = { kind: "sqlite", path: "a.db" } as const;
  const of = (...steps: readonly RepairStep[]) => afterRepair(steps, store);

  test("nothing is named where no event was set aside", () => {
    expect(of(session("a", 0))).toEqual([]);
  });

  test("one command names the sessions of one backup, and none where they are many", () => {
    const from = "--from a.db.backup-1 --to STORE";
    expect(of(session("a", 1), session("b", 0), session("c", 2))).toEqual([
      `holdfast sessions salvage a c ${from}`,
    ]);
    expect(of(...["a", "b", "c", "d", "e"].map((id) => session(id, 1)))).toEqual([
      `holdfast sessions salvage ${from}`,
    ]);
  });

  test("rows of no session are taken from where they were set aside", () => {
    const files = { location: "a.db", backup: "a.db.backup-1", quarantine: "a.db.quarantine-2" };
    expect(of({ kind: "foreign", reason, rows: 3, events: 2, ...files })).toEqual([
      "holdfast sessions salvage --from a.db.quarantine-2 --to STORE",
    ]);
  });
});

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Finished, runCommand } from "../fixtures/executable.ts";

const SRC = join(import.meta.dir, "..", "..", "src");

/** Ends a process as a command does that threw the value of this expression. */
function endWith(thrown: string): Promise<Finished> {
  const script = `
    const { reportError } = await import(${JSON.stringify(join(SRC, "cli", "exit-codes.ts"))});
    const errors = await import(${JSON.stringify(join(SRC, "store", "errors.ts"))});
    process.exitCode = reportError(${thrown});
  `;
  return runCommand([process.execPath, "-e", script]);
}

describe("a command that fails", () => {
  test("tells what happened, where, and what to do, and ends with the code of the error", async () => {
    const thrown =
      'new errors.StorageFailedError("It broke", { place: { path: "/x.db", seq: 7 }, hint: "Mend it." })';
    expect(await endWith(thrown)).toEqual({
      code: 1,
      stdout: "",
      stderr: "holdfast: It broke\n  where: file /x.db, seq 7\n  hint: Mend it.\n",
    });
  });

  test.each([
    ["new errors.NotFoundError('s')", 3],
    ["new errors.SequenceConflictError('s', 1, 2)", 4],
    ["new errors.CorruptError('Bad', { expected: 'a', found: 'b' })", 5],
    ["new errors.LockedError('/x.db', undefined)", 6],
    ["new errors.UnsupportedFormatError('Odd', { hint: 'Go.' })", 7],
    ["new errors.StorageFullError({})", 1],
  ])("by %s ends with %d", async (thrown, code) => {
    expect(await endWith(thrown)).toMatchObject({ code, stdout: "" });
  });

  test.each([
    ["new TypeError('boom')", "TypeError: boom"],
    ["'just a text'", "just a text"],
    ["undefined", "undefined"],
  ])("by a defect says that it is one, with all that helps to find it: %s", async (thrown, detail) => {
    const { code, stdout, stderr } = await endWith(thrown);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toStartWith(`holdfast: internal error: ${detail}`);
    expect(stderr).toContain("hint: This is a defect.");
  });
});

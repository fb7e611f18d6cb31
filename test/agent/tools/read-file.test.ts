import { describe, expect, test } from "bun:test";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { MAX_READ_BYTES } from "../../../src/agent/tools/read-file.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { MAX_OUTPUT_BYTES } from "../../../src/agent/tools/text.ts";
import { TestFolder } from "./folder.ts";

async function read(folder: TestFolder, args: object, signal = new AbortController().signal) {
  return new ToolRegistry(workspaceTools(folder.root)).call("read_file", JSON.stringify(args), signal);
}

async function readText(content: string | Uint8Array, args: object = {}): Promise<string> {
  await using folder = await TestFolder.create({ f: content });
  return (await read(folder, { path: "f", ...args })).text;
}

describe("read_file", () => {
  test("gives a small file as it is, without a note", async () => {
    await using folder = await TestFolder.create({ "a/b.txt": "one\r\ntwo\n\nthree" });
    expect(await read(folder, { path: "a/b.txt" })).toEqual({
      text: "one\r\ntwo\n\nthree",
      meta: { path: "a/b.txt", size: 15, offset: 1, lines: 4 },
    });
  });

  test("gives the lines asked for, and says how to read on", async () => {
    const file = "one\ntwo\nthree\nfour\n";
    expect(await readText(file, { offset: 2, limit: 2 })).toBe(
      "two\nthree\n\n[Lines 2 to 3 of a file of 19 bytes. Read on with offset 4.]",
    );
    expect(await readText(file, { limit: 1 })).toBe(
      "one\n\n[Line 1 of a file of 19 bytes. Read on with offset 2.]",
    );
    expect(await readText(file, { offset: 4 })).toBe("four\n");
    expect(await readText(file, { offset: 3, limit: 2 })).toBe("three\nfour\n");
  });

  test("an empty file says so", async () => {
    expect(await readText("")).toBe("[The file is empty.]");
  });

  test("an offset past the end is an error that names the number of lines", async () => {
    await using folder = await TestFolder.create({ f: "one\ntwo", g: "one\ntwo\n", e: "" });
    for (const [path, lines] of [
      ["f", "2 lines"],
      ["g", "2 lines"],
      ["e", "0 lines"],
    ]) {
      const outcome = await read(folder, { path, offset: 3 });
      expect(outcome.error?.code).toBe("WORKSPACE_PAST_END");
      expect(outcome.text).toContain(`has ${lines}; line 3 is past its end`);
    }
  });

  test("a long file is cut after a whole line within the bound", async () => {
    const line = `${"x".repeat(99)}\n`;
    const text = await readText(line.repeat(2000));
    const shown = Math.floor(MAX_OUTPUT_BYTES / 100);
    expect(text).toBe(
      `${line.repeat(shown)}\n[Lines 1 to ${shown} of a file of 200000 bytes. Read on with offset ${shown + 1}.]`,
    );
  });

  test("a file of exactly the bound is whole", async () => {
    const file = `${"x".repeat(MAX_OUTPUT_BYTES - 1)}\n`;
    expect(await readText(file)).toBe(file);
  });

  test.each([0, 1, 2, 3])(
    "a line longer than the bound is cut between characters (%p bytes before them)",
    async (lead) => {
      const text = await readText(`${"x".repeat(lead)}${"😀".repeat(20_000)}\nnext`);
      const [body = "", note = ""] = text.split("\n\n");
      expect(body).not.toContain("\ufffd");
      expect(Buffer.byteLength(body)).toBeGreaterThan(MAX_OUTPUT_BYTES - 4);
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_OUTPUT_BYTES);
      expect(note).toContain("Line 1 is longer than what fits; its rest is left out. Read on with offset 2.");
    },
  );

  test("reading on line by line, as the notes say, gives the whole file", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom("a", "é", "😀", "\r"), maxLength: 6 }), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (lines, limit, ends) => {
          const whole = lines.join("\n") + (ends ? "\n" : "");
          fc.pre(whole !== "");
          await using folder = await TestFolder.create({ f: whole });
          let offset: number | undefined = 1;
          let got = "";
          while (offset !== undefined) {
            const { text } = await read(folder, { path: "f", offset, limit });
            const note: RegExpExecArray | null = /\n+\[Lines? [^\]]+Read on with offset (\d+)\.\]$/.exec(
              text,
            );
            // A body that ends with a line end is followed by one more, the gap before the note.
            got += note === null ? text : text.slice(0, note.index + note[0].indexOf("[") - 1);
            offset = note === null ? undefined : Number(note[1]);
          }
          expect(got).toBe(whole);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a byte order mark is dropped, and invalid UTF-8 is shown with replacement characters, which is said", async () => {
    expect(await readText("\ufeffhello")).toBe("hello");
    expect(await readText("a real \ufffd")).toBe("a real \ufffd");
    expect(await readText(new Uint8Array([0x61, 0xff, 0xc3, 0x28, 0x62, 0xe2, 0x82]))).toBe(
      "a\ufffd\ufffd(b\ufffd\n\n[Bytes that are no UTF-8 are shown as U+FFFD.]",
    );
    expect(await readText(Buffer.from("caf\u00e9\nth\u00e9\n", "latin1"), { limit: 1 })).toBe(
      "caf\ufffd\n\n[Bytes that are no UTF-8 are shown as U+FFFD. Line 1 of a file of 9 bytes. Read on with offset 2.]",
    );
  });

  test.each([0xff, 0xe9])(
    "text of bytes %i stays within the bound when each becomes a character",
    async (byte) => {
      for (const file of [
        new Uint8Array(200_000).fill(byte),
        new Uint8Array(200_000).fill(byte).fill(0x0a, 99, 100),
      ]) {
        const text = await readText(file);
        expect(Buffer.byteLength(text)).toBeLessThan(MAX_OUTPUT_BYTES + 300);
        expect(text).toContain("[Bytes that are no UTF-8 are shown as U+FFFD. Line 1");
      }
    },
  );

  test.each([
    ["little-endian", [0xff, 0xfe], "utf16le"],
    ["big-endian", [0xfe, 0xff], "utf16be"],
  ] as const)("UTF-16 (%s) is told by its mark, and refused by name", async (_, mark, order) => {
    // Of characters whose halves look like text.
    const body = Buffer.from("\u6f22\u5b57\u6f22\u5b57", "utf16le");
    await using folder = await TestFolder.create({
      f: Buffer.concat([Buffer.from(mark), order === "utf16le" ? body : body.swap16()]),
    });
    expect(await read(folder, { path: "f" })).toEqual({
      text: '"f" is text in UTF-16; only UTF-8 can be shown.',
      error: { name: "WorkspaceError", code: "WORKSPACE_BINARY" },
    });
  });

  test("only a line feed ends a line, and the last line needs none", async () => {
    const file = "a\u2028b\u0085c\rd\r\ne";
    expect(await readText(file)).toBe(file);
    expect(await readText(file, { offset: 2 })).toBe("e");
  });

  test("one line of 50 MB is shown in part, and what lies behind it is within reach", async () => {
    await using folder = await TestFolder.create({
      f: Buffer.concat([Buffer.alloc(50e6, "x"), Buffer.from("\nend")]),
    });
    const first = await read(folder, { path: "f" });
    expect(Buffer.byteLength(first.text)).toBeLessThan(MAX_OUTPUT_BYTES + 300);
    expect(first.text).toContain("[Line 1 of a file of 50000004 bytes. Line 1 is longer than what fits;");
    expect((await read(folder, { path: "f", offset: 2 })).text).toBe("end");
  });

  test("a file with a NUL byte in its first 8 KiB is binary, a later one is not looked for", async () => {
    await using folder = await TestFolder.create({
      early: `${"x".repeat(8191)}\0`,
      late: `${"x".repeat(8192)}\0`,
    });
    expect((await read(folder, { path: "early" })).error?.code).toBe("WORKSPACE_BINARY");
    expect((await read(folder, { path: "late" })).error).toBeUndefined();
  });

  test("a huge file is not read into memory, and lines too far into it are out of reach", async () => {
    await using folder = await TestFolder.create({ f: `first\n${"x".repeat(10_000)}\n` });
    await truncate(join(folder.root, "f"), MAX_READ_BYTES * 4);
    const before = process.memoryUsage().rss;
    expect((await read(folder, { path: "f", limit: 1 })).text).toStartWith("first\n");
    const outcome = await read(folder, { path: "f", offset: 4 });
    expect(outcome.error?.code).toBe("WORKSPACE_PAST_END");
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
  });

  test("a cancelled call stops between blocks with the signal's reason", async () => {
    await using folder = await TestFolder.create({ f: "first\n" });
    await truncate(join(folder.root, "f"), 16 * 1024 * 1024);
    const controller = new AbortController();
    const call = read(folder, { path: "f", offset: 9 }, controller.signal).catch((error: unknown) => error);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await call).toBe(reason);
  });

  test.each([
    [{}, "TOOL_ARGUMENTS_INVALID"],
    [{ path: "f", offset: 0 }, "TOOL_ARGUMENTS_INVALID"],
    [{ path: "f", limit: 0 }, "TOOL_ARGUMENTS_INVALID"],
    [{ path: "." }, "WORKSPACE_NOT_A_FILE"],
    [{ path: "nothing" }, "WORKSPACE_NOT_FOUND"],
    [{ path: "../outside" }, "WORKSPACE_OUTSIDE"],
  ])("%j fails with %s", async (args, code) => {
    await using folder = await TestFolder.create({ f: "x" });
    expect((await read(folder, args)).error?.code).toBe(code);
  });
});

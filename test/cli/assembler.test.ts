import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Entry, InputAssembler } from "../../src/cli/chat/assembler.ts";

/** What is made of these lines, and whether some are missing at the end. */
function entriesOf(...lines: readonly string[]): { entries: Entry[]; isOpen: boolean } {
  const assembler = new InputAssembler();
  const entries = lines.map((line) => assembler.add(line)).filter((entry) => entry !== undefined);
  return { entries, isOpen: assembler.isOpen };
}

const input = (text: string): Entry => ({ kind: "input", text });

describe("an input of lines", () => {
  test.each([
    ["one line", ["Hello"], [input("Hello")]],
    ["lines that go on", ["a\\", " b \\", "c"], [input("a\n b \nc")]],
    [
      "a block, as it stands",
      ['"""', "  a\\", "", "/exit", "// b", '""" ', "c"],
      [input("  a\\\n\n/exit\n// b"), input("c")],
    ],
    ["nothing but white space: none", ["", "  ", "\\", "", '"""', " ", '"""'], []],
    [
      "a command",
      ["/help", "/exit now "],
      [
        { kind: "command", name: "help" },
        { kind: "command", name: "exit now" },
      ],
    ],
    ["two slashes: one", ["//etc/hosts?", "//"], [input("/etc/hosts?"), input("/")]],
    [
      "quotation marks within a line, or within lines that go on",
      ['say """', "a\\", '"""'],
      [input('say """'), input('a\n"""')],
    ],
  ] as const)("%s", (_, lines, entries) => {
    expect(entriesOf(...lines)).toEqual({ entries: [...entries], isOpen: false });
  });

  test("that other programs are left with is told apart where that is wanted, if it is a line alone", () => {
    expect(entriesOf("exit", "quit")).toEqual({ entries: [input("exit"), input("quit")], isOpen: false });
    const typed = new InputAssembler(true);
    expect([" exit ", "quit", "exit!", '"""', "exit", '"""'].map((line) => typed.add(line))).toEqual([
      { kind: "farewell", text: "exit" },
      { kind: "farewell", text: "quit" },
      input("exit!"),
      undefined,
      undefined,
      input("exit"),
    ]);
    expect(["a\\", "exit"].map((line) => typed.add(line))).toEqual([undefined, input("a\nexit")]);
  });

  test("is not complete within a block, or after a backslash", () => {
    expect(entriesOf('"""', "a")).toEqual({ entries: [], isOpen: true });
    expect(entriesOf("a\\")).toEqual({ entries: [], isOpen: true });
  });

  test("that was pasted is taken as it is, into a block that is open too", () => {
    const assembler = new InputAssembler();
    expect(assembler.addPasted(["// a\\", '"""', "b"])).toEqual(input('// a\\\n"""\nb'));
    assembler.add('"""');
    expect(assembler.addPasted(["a", "b"])).toBeUndefined();
    expect(assembler.add('"""')).toEqual(input("a\nb"));
    assembler.add("a\\");
    assembler.clear();
    expect(assembler.add("b")).toEqual(input("b"));
  });

  test("can be any text: in a block", () => {
    const line = fc.string().filter((text) => !/[\r\n]/.test(text) && text.trim() !== '"""');
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const text = lines.join("\n");
        expect(entriesOf('"""', ...lines, '"""').entries).toEqual(text.trim() === "" ? [] : [input(text)]);
      }),
    );
  });
});

import { describe, expect, test } from "bun:test";
import { Progress } from "../../src/cli/progress.ts";

const CLEAR = "\r\u001b[K";

/** Keeps what is written to it. */
class Screen {
  written = "";
  readonly isTTY: boolean;
  readonly columns: number;

  constructor(isTTY: boolean, columns = 20) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): boolean {
    this.written += text;
    return true;
  }
}

describe("a line of progress", () => {
  test("takes the place of the one before it, and is gone when it is cleared or the command ends", () => {
    const stream = new Screen(true);
    {
      using progress = new Progress({ stream });
      progress.clear();
      expect(stream.written).toBe("");
      progress.show("1 of 2");
      progress.show("2 of 2");
      expect(stream.written).toBe(`${CLEAR}1 of 2${CLEAR}2 of 2`);
      progress.clear();
      progress.clear();
      expect(stream.written).toEndWith(`2 of 2${CLEAR}`);
      progress.show("done");
    }
    expect(stream.written).toEndWith(`${CLEAR}2 of 2${CLEAR}${CLEAR}done${CLEAR}`);
  });

  test.each([
    ["abcdefghijklmnopqrstuvwxyz", 20, "abcdefghijklmnopqrs"],
    ["牛奶牛奶牛奶牛奶牛奶", 12, "牛奶牛奶牛奶"],
    ["a\u001b[2Jb\nc", 40, "a\\u001b[2Jb\\u000ac"],
    ["x".repeat(90), 0, "x".repeat(79)],
  ])("fits the terminal, and steers nothing: %j on %d columns", (text, columns, shown) => {
    const stream = new Screen(true, columns);
    new Progress({ stream }).show(text);
    expect(stream.written).toBe(CLEAR + shown);
  });

  test("is not drawn before a command takes long", () => {
    const stream = new Screen(true);
    let now = 5;
    using progress = new Progress({ stream, silentMs: 300, clock: () => now });
    progress.show("early");
    now += 299;
    progress.show("early");
    progress.clear();
    expect(stream.written).toBe("");
    now += 1;
    progress.show("late");
    expect(stream.written).toBe(`${CLEAR}late`);
  });

  test("is nowhere but on a terminal", () => {
    const stream = new Screen(false);
    {
      using progress = new Progress({ stream });
      progress.show("1 of 2");
    }
    expect(stream.written).toBe("");
  });
});

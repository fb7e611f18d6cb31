import { describe, expect, test } from "bun:test";
import { Fences } from "../../src/cli/conversation/fences.ts";

/** Whether each line of a text is code or a fence, read in pieces of so many characters. */
function codeLines(text: string, size: number): boolean[] {
  const fences = new Fences();
  return text.split("\n").map((line) => {
    for (let at = 0; at < line.length; at += size) fences.take(line.slice(at, at + size));
    const { isCode } = fences;
    fences.endLine();
    return isCode;
  });
}

describe("a fence", () => {
  test.each([
    ["stands at the beginning of a line, with up to three spaces", "   ```js\nx\n ```\ny", "1110"],
    ["that is further in is text", "    ```js\nx", "00"],
    [
      "within a line is text, and the one that should close it opens a block",
      "text ```js\nx\n```\ny",
      "0011",
    ],
    ["is closed by as many of the same character, or more", "~~~~\n~~~\n````\n~~~~~ \t\ny", "11110"],
    ["is not closed by one with something behind it", "```\n```js\n``` y\n```\ny", "11110"],
    ["of backticks has none behind it: that is code within text", "```x```\ny\n```a`\nz", "0000"],
    ["of tildes may have any", "~~~ a`~\nx\n~~~\ny", "1110"],
    ["has at least three characters of one kind", "``\nx\n``~\ny", "0000"],
  ])("%s", (_, text, code) => {
    const expected = Array.from(code, (digit) => digit === "1");
    for (const size of [1, 2, 3, 100]) expect(codeLines(text, size)).toEqual(expected);
  });
});

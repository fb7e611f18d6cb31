import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { PasteFilter } from "../../src/cli/chat/paste-filter.ts";

const START = "\u001b[200~";
const END = "\u001b[201~";

function filtered(pieces: readonly string[]): string {
  const filter = new PasteFilter();
  return pieces.map((piece) => filter.push(piece)).join("");
}

describe("the filter of pastes", () => {
  test("takes control characters out of a paste, and leaves line ends and tabs", () => {
    const pasted = "a\r\n\tb\u0003\u0004\u001ac\u001b[A\u009b31m\u007fd";
    expect(filtered([`${START}${pasted}${END}`])).toBe(`${START}a\r\n\tbc[A31md${END}`);
  });

  test("leaves keys as they are, also a lone escape at once", () => {
    expect(filtered(["a\u0003\u001b[A\u0004"])).toBe("a\u0003\u001b[A\u0004");
    expect(new PasteFilter().push("\u001b")).toBe("\u001b");
    expect(filtered([`${START}x${END}\u0003`])).toBe(`${START}x${END}\u0003`);
  });

  test("gives the same text however it is cut, if no piece is a lone control character", () => {
    const part = fc.constantFrom("a", "é", "\r", START, END, "\u0004", "\u001b[A", "\u001b[20", "~");
    fc.assert(
      fc.property(fc.array(part), fc.infiniteStream(fc.integer({ min: 2, max: 9 })), (parts, sizes) => {
        const whole = `${parts.join("")}${END}..`;
        const pieces: string[] = [];
        for (let at = 0; at < whole.length; ) {
          const size = sizes.next().value;
          pieces.push(whole.slice(at, at + size));
          at += size;
        }
        expect(filtered(pieces)).toBe(filtered([whole]));
      }),
    );
  });

  test("hears a key in a paste whose end got lost", () => {
    expect(filtered([`${START}abc`, "\u0003", "d\u0004"])).toBe(`${START}abc${END}\u0003d\u0004`);
  });
});

import { describe, expect, test } from "bun:test";
import type { TurnUpdate } from "../../src/cli/conversation/source.ts";
import { TerminalView } from "../../src/cli/conversation/terminal-view.ts";

const DONE: TurnUpdate = { kind: "done", answer: { message: "All of it.", reason: { kind: "completed" } } };

function text(text: string, block = "1/1/0"): TurnUpdate {
  return { kind: "text", text, block };
}

/** What is on the screen after these updates. */
async function shown(updates: readonly TurnUpdate[], { width = 80 } = {}): Promise<string> {
  let screen = "";
  const output = {
    write: async (piece: string) => {
      screen += piece;
    },
    flush: async () => undefined,
  };
  const view = new TerminalView(output, { dim: false, width: () => width });
  for (const update of updates) await view.show(update);
  await view.end();
  return screen;
}

describe("a Turn on a terminal", () => {
  test("ends with a line end, and adds none where there is one", async () => {
    expect(await shown([text("One"), text(" line."), DONE])).toBe("One line.\n");
    expect(await shown([text("One line.\n"), DONE])).toBe("One line.\n");
    expect(await shown([text("cut off")])).toBe("cut off\n");
    expect(await shown([])).toBe("");
  });

  test("begins a line for each block", async () => {
    expect(await shown([text("One.", "1/1/0"), text("Two.", "1/1/2"), text("Three.", "1/2/0"), DONE])).toBe(
      "One.\nTwo.\nThree.\n",
    );
  });

  test("shows half a character when it is clear that the other half is missing", async () => {
    expect(await shown([text("a\ud83d"), text("\udca3"), text("\ud83d"), text("b", "1/2/0")])).toBe(
      "a\u{1f4a3}\\ud83d\nb\n",
    );
  });

  test("says when a model is asked again", async () => {
    const retry: TurnUpdate = { kind: "retry", message: "It is\nbusy", delayMs: 1_500 };
    expect(await shown([retry, text("Yes."), DONE])).toBe(
      "[It is\\u000abusy; trying again in 1.5 s]\nYes.\n",
    );
  });

  test("shows the answer that a Host has not streamed", async () => {
    expect(await shown([DONE])).toBe("All of it.\n");
  });

  test("shows calls that were never made, that are still open, and one in a narrow window", async () => {
    const call = { callId: "c", name: "read_file", arguments: '{"path":"日本語.md"}' } as const;
    expect(await shown([{ kind: "call", ...call }])).toBe('[read_file {"path":"日本語.md"}]\n');
    expect(await shown([text("I "), { kind: "result", ...call, failure: "" }])).toBe(
      'I \n[read_file {"path":"日本語.md"}: failed]\n',
    );
    expect(
      await shown(
        [
          { kind: "call", ...call },
          { kind: "result", ...call },
        ],
        { width: 20 },
      ),
    ).toBe('[read_file {"path"…: ok]\n');
    expect(
      await shown(
        [
          { kind: "call", ...call },
          { kind: "result", ...call },
          { kind: "result", ...call, callId: "d" },
        ],
        {
          width: 28,
        },
      ),
    ).toBe('[read_file {"path":"日…: ok]\n[read_file {"path":"日…: ok]\n');
  });
});

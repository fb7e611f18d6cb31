import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Doomed, doomedText } from "../../src/cli/sessions/removal/removal-report.ts";
import { oddString } from "../fixtures/arbitraries.ts";

const NOON = new Date(2026, 2, 5, 12, 7).getTime();
const LONG_ID = "examples-acp-agent-subagent-continuable-inheritance-session-1";

function doomed(id: string, more: Partial<Doomed> = {}): Doomed {
  return { id, turns: 2, createdAt: NOON, lastActive: NOON, cwd: "/srv/x", ...more };
}

function told(sessions: readonly Doomed[], width?: number): string[] {
  return [...doomedText(sessions, width)]
    .join("")
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
}

describe("the list of what is to be deleted", () => {
  test("has folders beside the others, and below them where there is no room", () => {
    const sessions = [doomed("a", { title: "日本" }), { id: "bb" }];
    const whole = [
      "to delete:",
      "ID  TITLE  STARTED           LAST ACTIVE       TURNS  FOLDER",
      "a   日本   2026-03-05 12:07  2026-03-05 12:07      2  /srv/x",
      "bb  -      -                 -                     -  -",
    ];
    expect(told(sessions)).toEqual(whole);
    expect(told(sessions, 80)).toEqual(whole);
    expect(told(sessions, 55)[2]).toBe("a   日本   2026-03-05 12:07      2  /srv/x");
    expect(told(sessions, 40)).toEqual([
      "to delete:",
      "ID  TITLE  LAST ACTIVE       TURNS",
      "a   日本   2026-03-05 12:07      2",
      "  folder: /srv/x",
      "bb  -      -                     -",
    ]);
  });

  test("has whole ids, each on a line of its own where the table has no room for them", () => {
    const title = "Reply with exactly the words that I am about to say";
    const sessions = [
      doomed(LONG_ID, { title, parentSession: "p", reason: "No end" }),
      { id: "bb", createdAt: NOON },
    ];
    expect(told(sessions, 100)[1]).toMatch(/^ID {61}TITLE {2,}LAST ACTIVE$/);
    expect(told(sessions, 60)).toEqual([
      "to delete:",
      LONG_ID,
      "  ↳ Reply with exactly the words that I am about to say",
      "  2 Turns, last active 2026-03-05 12:07",
      "  folder: /srv/x",
      "  reason: No end",
      "bb",
      "  made 2026-03-05 12:07",
    ]);
    expect(told(sessions, 25).slice(1, 5)).toEqual([
      LONG_ID,
      "  ↳ Reply with exactly t…",
      "  2 Turns, last active",
      "    2026-03-05 12:07",
    ]);
  });

  test("marks the sessions that have a parent", () => {
    const sessions = [
      doomed("a", { title: "Milk" }),
      doomed("b", { title: "Milk", parentSession: "a" }),
      doomed("c", { title: "שלום", parentSession: "a" }),
    ];
    expect(told(sessions, 120).map((line) => line.slice(0, 11).trimEnd())).toEqual([
      "to delete:",
      "ID  TITLE",
      "a   Milk",
      "b   ↳ Milk",
      "c   ↳ \u2068שלום",
    ]);
    expect(told(sessions, 20)).toContain("  ↳ \u2068שלום\u2069");
  });

  test("has each id whole and the folders, and is no wider than the terminal but for these, whatever they hold", () => {
    const session = fc.record(
      {
        id: fc.stringMatching(/^[a-z]{1,40}$/),
        title: oddString(),
        cwd: fc.stringMatching(/^\/[a-z]{1,30}$/),
        parentSession: fc.constant("p"),
        lastActive: fc.constant(NOON),
      },
      { requiredKeys: ["id"] },
    );
    fc.assert(
      fc.property(
        fc.array(session, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 120 }),
        (sessions, width) => {
          const lines = told(sessions, width).slice(1);
          const words = lines.flatMap((line) => line.split(" "));
          for (const { id, cwd } of sessions) {
            expect(lines.map((line) => line.split(" ")[0])).toContain(id);
            if (cwd !== undefined) expect(words).toContain(cwd);
          }
          const wide = lines.filter((line) => Bun.stringWidth(line) > width && width >= 24);
          const whole = new Set(sessions.flatMap(({ id, cwd }) => [id, cwd]));
          expect(wide.filter((line) => !whole.has(line.trim()))).toEqual([]);
        },
      ),
    );
  });
});

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { FEW_STORES, fewSessions, linesOf, listed, plantTurns, sessions } from "../fixtures/few-sessions.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

describe.each(FEW_STORES)("sessions rename in %s", (...kind) => {
  const [, store] = kind;

  test("appends a title, and changes nothing that was said", async () => {
    await using folder = await fewSessions(kind, (open) => plantTurns(open, "s"));
    const shown = async () => (await sessions(folder, "show", "s", store, "--events")).stdout;
    const before = await shown();
    const text = await sessions(folder, "rename", "s", " Where the milk is ", store);
    expect(text).toEqual({ code: 0, stdout: "renamed s: Where the milk is (event 3)\n", stderr: "" });
    const json = await sessions(folder, "rename", "s", "Milk 🥛", store, "--json");
    expect(linesOf(json)).toEqual([{ id: "s", title: "Milk 🥛", seq: 4, closers: 0, torn: false }]);
    const after = await shown();
    expect(after).toStartWith(before);
    const [first = ""] = after.slice(before.length).split("\n");
    const data = { title: "Where the milk is", messageSeqs: [], source: { kind: "user" } };
    expect(JSON.parse(first)).toMatchObject({ type: "session/title", seq: 3, data });
  });
});

test("sessions rename refuses a session that there is not, a held store, and what is no title", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "s"));
  const rename = async (id: string, title: string) =>
    (await sessions(folder, "rename", id, title, "a.db")).code;
  expect(await rename("x", "T")).toBe(3);
  for (const title of [" ", "a\nb", "x".repeat(501), "🥛".repeat(501)])
    expect(await rename("s", title)).toBe(2);
  await withStore(folder.at("a.db"), async () => expect(await rename("s", "T")).toBe(6));
  const untitled = await sessions(folder, "rename", "s", "a.db");
  expect(untitled).toMatchObject({ code: 2, stderr: expect.stringContaining('No title is given: "a.db"') });
  expect(await listed(folder, "a.db")).toEqual(["s ok 3"]);
});

test("sessions rename closes a Turn that was left open, as whoever goes on with the session does", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) =>
    plant(open, "origin", recordsOfDrafts([turnStart(1), userMessage("Go on.")])),
  );
  // As long as a title can be, in characters and not in UTF-16 units.
  const title = "🥛".repeat(500);
  // As for other commands, the store may stand first.
  const { stdout } = await sessions(folder, "rename", "a.db", "ori", title);
  expect(stdout).toBe(`renamed origin: ${title} (event 3, after 1 that close its last Turn)\n`);
});

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { FEW_STORES, fewSessions, linesOf, listed, plantTurns, sessions } from "../fixtures/few-sessions.ts";
import { withStore } from "../fixtures/stored-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

describe.each(FEW_STORES)("sessions fork in %s", (...kind) => {
  const [, store] = kind;

  test("copies up to the end of the Turn that is named, and leaves the parent as it is", async () => {
    await using folder = await fewSessions(kind, (open) => plantTurns(open, "s", { turns: 3 }));
    const parent = await sessions(folder, "show", "s", store, "--events");
    const args = ["--turn", "2", "--session-id", "second", "--json"];
    const forked = await sessions(folder, "fork", "s", store, ...args);
    expect(linesOf(forked)).toEqual([{ id: "second", parent: "s", at: 5, events: 7 }]);
    const shown = await sessions(folder, "show", "second", store, "--events");
    expect(shown.stdout).toStartWith(parent.stdout.split("\n").slice(0, 6).join("\n"));
    expect(await sessions(folder, "show", "s", store, "--events")).toEqual(parent);
  });
});

test("sessions fork refuses what cannot be: an id that is taken, a Turn or a session that there is not, a held store", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "s"));
  const codes: (number | undefined)[] = [];
  const hints: string[] = [];
  const refused = async (...args: readonly string[]) => {
    const { code, stderr } = await sessions(folder, "fork", ...args);
    codes.push(code);
    hints.push(/ {2}hint: (.*)/.exec(stderr)?.[1] ?? "");
  };
  for (const args of [
    ["s", "a.db", "--session-id", "s"],
    ["s", "a.db", "--turn", "2"],
    ["x", "a.db"],
  ])
    await refused(...args);
  await withStore(folder.at("a.db"), () => refused("s", "a.db"));
  expect(codes).toEqual([4, 2, 3, 6]);
  expect(hints[0]).toContain("--session-id");
  expect(hints[3]).toContain("/api/v1/sessions/s/forks");
  expect(await listed(folder, "a.db")).toEqual(["s ok 3"]);
});

test("sessions fork cuts after a seq or after the last Turn, and makes an id, but no store", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "origin", { turns: 2 }));
  const atSeq = linesOf(await sessions(folder, "fork", "ori", "a.db", "--at", "2", "--json"));
  expect(atSeq).toMatchObject([{ parent: "origin", at: 2, events: 4 }]);
  const { stdout } = await sessions(folder, "fork", "origin", "a.db");
  expect(stdout).toMatch(/^forked origin as [0-9a-f-]{36}: 7 events, up to the end of a Turn at seq 5\n$/);
  expect(await sessions(folder, "fork", "origin", "sqlite:b.db")).toMatchObject({ code: 3, stdout: "" });
  expect(await Bun.file(folder.at("b.db")).exists()).toBe(false);
});

test("sessions fork takes over a title that was given since the last Turn, unless a Turn is named", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "s", { turns: 2 }));
  await sessions(folder, "rename", "s", "Milk", "a.db");
  const forks = [[], ["--turn", "2"], ["--at", "5"]];
  const told: unknown[] = [];
  for (const [k, args] of forks.entries())
    told.push(
      ...linesOf(await sessions(folder, "fork", "s", "a.db", ...args, "--session-id", `f${k}`, "--json")),
    );
  expect(told).toEqual([8, 7, 7].map((events, k) => ({ id: `f${k}`, parent: "s", at: 5, events })));
  const list = linesOf(await sessions(folder, "list", "a.db", "--parent", "s", "--json"));
  expect(Object.fromEntries(list.map(({ id, title }) => [id, title]))).toMatchObject({
    f0: "Milk",
    f1: "Say 0.",
    f2: "Say 0.",
  });
});

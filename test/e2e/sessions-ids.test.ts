import { expect, setDefaultTimeout, test } from "bun:test";
import { FEW_STORES, fewSessions, linesOf, plantTurns, sessions } from "../fixtures/few-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test("commands that read take the beginning of an id where it is the only one; one that deletes does not", async () => {
  await using folder = await fewSessions(FEW_STORES[0], async (store) => {
    for (const id of ["milk", "milk-and-bread", "butter"]) await plantTurns(store, id);
  });
  const verified = await sessions(folder, "verify", "a.db", "b", "milk", "--json");
  expect(verified.code).toBe(0);
  const ids = linesOf(verified).flatMap(({ kind, id }) => (kind === "session" ? [id] : []));
  expect(ids.toSorted()).toEqual(["butter", "milk"]);
  const copied = await sessions(
    folder,
    "copy",
    "butter",
    "milk-",
    "bu",
    "--from",
    "a.db",
    "--to",
    "b.db",
    "--json",
  );
  expect(linesOf(copied).map(({ id, state }) => [id, state])).toEqual([
    ["butter", "copied"],
    ["milk-and-bread", "copied"],
  ]);
  const several =
    /2 sessions have an id that begins with "mi"\n(.*\n)? {2}hint: Give more of one of these: milk, milk-and-bread\n$/;
  const unsure = await sessions(folder, "verify", "a.db", "mi");
  expect(unsure).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(several) });
  const report = linesOf(await sessions(folder, "copy", "mi", "--from", "a.db", "--to", "c.db", "--json"));
  const reason = expect.stringContaining("Give more of one of these: milk, milk-and-bread");
  expect(report).toMatchObject([{ id: "mi", state: "failed", code: "ambiguous-id", reason }]);
  const lists = "`holdfast sessions list sqlite:a.db` lists those that are there.";
  for (const command of ["verify", "compact"])
    expect(await sessions(folder, command, "a.db", "x")).toMatchObject({
      code: 3,
      stderr: `holdfast: 1 session that was named is not there\n  hint: ${lists}\n`,
    });
  expect(await sessions(folder, "fork", "x", "a.db")).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /^holdfast: There is no session "x"\n.*\n {2}hint: `holdfast sessions list /,
    ),
  });
  const absent = await sessions(folder, "copy", "x", "--from", "a.db", "--to", "c.db");
  expect(absent).toMatchObject({ code: 3, stdout: expect.stringContaining(lists) });
  const misspelt = await sessions(folder, "show", "mikl-and-bread", "a.db");
  expect(misspelt).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("Did you mean milk-and-bread?"),
  });
  expect((await sessions(folder, "delete", "a.db", "butt", "--yes")).code).toBe(3);
  expect((await sessions(folder, "list", "a.db", "--ids")).stdout.split("\n")).toContain("butter");
});

import { describe, expect, test } from "bun:test";
import { AmbiguousIdError, onlyIdWith, resolveSessionId } from "../../src/cli/sessions/session-id.ts";
import { NotFoundError } from "../../src/store/errors.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { rejectionOf } from "../contract/support.ts";
import { FEW_STORES, fewSessions, plantTurns } from "../fixtures/few-sessions.ts";
import { withStore } from "../fixtures/stored-sessions.ts";

const IDS = ["ab", "abc", "abd", "xyz", "über"];

/** A store that cannot be listed. */
function unlisted(store: SessionPersistence): SessionPersistence {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) => {
        if (key === "list" || key === "listSnapshots") throw new Error("listed");
        return Reflect.apply(value, target, args);
      };
    },
  });
}

describe.each(FEW_STORES)("in %s", (...kind) => {
  test("an id is the exact one, or else the only one that begins so", async () => {
    await using folder = await fewSessions(kind, async (store) => {
      for (const id of IDS) await plantTurns(store, id);
    });
    await withStore(folder.at(kind[1]), async (store) => {
      for (const id of IDS) expect(await resolveSessionId(unlisted(store), id)).toBe(id);
      expect(await resolveSessionId(store, "x")).toBe("xyz");
      expect(await resolveSessionId(store, "ü")).toBe("über");
      for (const id of ["", "abcd", "X", "%", "yz"])
        expect(await rejectionOf(resolveSessionId(store, id))).toBeInstanceOf(NotFoundError);
      const missing = await rejectionOf(resolveSessionId(store, "xyy"));
      expect(missing).toMatchObject({ code: "not-found", hint: "Did you mean xyz?" });
      const far = await rejectionOf(resolveSessionId(store, "nothing", { kind: "jsonl", path: "my logs" }));
      expect(far).toMatchObject({
        code: "not-found",
        place: { path: "my logs" },
        hint: "`holdfast sessions list 'jsonl:my logs'` lists those that are there.",
      });
      const error = await rejectionOf(resolveSessionId(store, "a"));
      expect(error).toBeInstanceOf(AmbiguousIdError);
      expect(error).toMatchObject({ code: "ambiguous-id", candidates: ["ab", "abc", "abd"] });
    });
  });
});

test("of many ids that begin alike ten are named, and how many there are more", async () => {
  const many = Array.from({ length: 25 }, (_, k) => ({ id: `s${10 + k}` }));
  const error = await rejectionOf(onlyIdWith("s", many, { kind: "sqlite", path: "/a.db" }));
  expect(String(Object(error).explain())).toBe(
    '25 sessions have an id that begins with "s"\n  where: file /a.db\n' +
      "  hint: Give more of one of these: s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, and 15 more",
  );
  // Two files that claim one id are one session.
  expect(await onlyIdWith("s1", [{ id: "s1x" }, { id: "s1x" }])).toBe("s1x");
});

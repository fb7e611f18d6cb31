import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQLITE_SCENARIOS } from "../fixtures/power-cut/sqlite.ts";

// Hundreds of states, each opened twice, perhaps on a busy machine.
setDefaultTimeout(60_000);

describe("the power is cut, SQLite", () => {
  for (const { name, floor, run } of SQLITE_SCENARIOS) {
    test(`${name}: all that was acknowledged is there, and nothing that was not sent`, async () => {
      const { present, absent } = await run();
      expect(present + absent).toBeGreaterThan(floor);
    });
  }
});

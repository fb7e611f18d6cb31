import { describe } from "bun:test";
import { type Need, Rig, type RigSettings, type Subject } from "./rig.ts";
import type { Tally } from "./tally.ts";

/** What every part of the contract is given. */
export interface Contract extends Pick<Subject, "capabilities"> {
  /** A test body with a store of its own, which is closed and removed afterwards. */
  rigged(body: (rig: Rig) => Promise<void>, settings?: RigSettings): () => Promise<void>;
  /** A group of cases that need something of the backend. Where it is not claimed they are shown as skipped. */
  needing(need: Need, name: string, cases: () => void): void;
}

export function makeContract(subject: Subject, tally: Tally): Contract {
  let needed: Need | undefined;
  return {
    capabilities: subject.capabilities,
    rigged: (body, settings) =>
      tally.add(needed, async (reopened) => {
        await using rig = await Rig.open(subject, { ...settings, reopened });
        await body(rig);
      }),
    needing: (need, name, cases) => {
      const isClaimed = need === "tear" ? subject.tear !== undefined : subject.capabilities[need];
      describe.skipIf(!isClaimed)(`${name} (needs ${need})`, () => {
        needed = need;
        cases();
        needed = undefined;
      });
    },
  };
}

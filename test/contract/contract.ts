import { type Capabilities, type PersistenceFactory, Rig, type RigSettings } from "./rig.ts";

/** What every part of the contract is given. */
export interface Contract {
  readonly capabilities: Capabilities;
  /** A test body with a store of its own, which is closed and removed afterwards. */
  rigged(body: (rig: Rig) => Promise<void>, settings?: RigSettings): () => Promise<void>;
}

export function makeContract(factory: PersistenceFactory, capabilities: Capabilities): Contract {
  return {
    capabilities,
    rigged: (body, settings) => async () => {
      await using rig = await Rig.open(factory, capabilities, settings);
      await body(rig);
    },
  };
}

import { describe, expect, test } from "bun:test";
import { type Kind, kindsOf } from "../store/jsonl/damage-kinds.ts";
import { Place } from "../store/jsonl/place.ts";
import { repairRoot } from "../store/jsonl/repaired.ts";
import { bringDsh, type Encoding } from "./dsh.ts";

/* A log that Holdfast repaired, dsh loads: what was set aside lies beside it and does not bother dsh. */

const TIMEOUT_MS = 60_000;
const ENCODINGS: readonly Encoding[] = ["zstd", "none"];

const dsh = await bringDsh();
const skipped = dsh.missing === undefined ? "" : ` (skipped: ${dsh.missing})`;

async function repaired(kind: Kind, encoding: Encoding): Promise<Place> {
  const place = new Place();
  place.put("s", encoding, Buffer.concat(kind.parts(encoding)));
  await repairRoot(place.root);
  return place;
}

describe.skipIf(dsh.missing !== undefined)(`repaired logs${skipped}`, () => {
  test.each(ENCODINGS)(
    "are loaded by dsh with all that was kept and nothing left to close, encoding %s",
    async (encoding) => {
      const kinds = kindsOf(encoding);
      using places = new DisposableStack();
      const roots = await Promise.all(
        kinds.map(async (kind) => ({ root: places.use(await repaired(kind, encoding)).root, encoding })),
      );
      const read = await dsh.read(roots);
      const found = read.map(({ sessions: { s: session } }, k) => {
        const known = session !== undefined && "events" in session ? session : undefined;
        return {
          name: kinds[k]?.name,
          events: known?.events,
          closers: known?.closers,
          other: known ?? session,
        };
      });
      expect(found.map(({ other: _, ...rest }) => rest)).toEqual(
        kinds.map(({ name, keptEvents, closers }) => ({ name, events: keptEvents + closers, closers: [] })),
      );
    },
    TIMEOUT_MS,
  );
});

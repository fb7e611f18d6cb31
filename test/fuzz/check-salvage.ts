import type { SalvageResult } from "../../src/store/salvage.ts";
import { formatStoreName } from "../../src/store/store-name.ts";
import type { Mark } from "./check-reading.ts";
import { errorsIn, verify } from "./check-verify.ts";
import { describe, need, typed } from "./fault.ts";
import { storeIn } from "./store-files.ts";
import type { Subject } from "./subject.ts";
import type { Input } from "./types.ts";

const clock = () => 1_800_000_000_000;
/** What only a defect of the program itself brings about. */
const DEFECT = /not sound|reads back as another/;

/**
 * Salvages what is left of a store into a new one, and checks that.
 * @param place of the damaged store, and of the new one @returns whether anything was salvaged @throws Fault
 */
export async function checkSalvage(
  subject: Subject,
  input: Input,
  place: { readonly from: string; readonly to: string },
  mark: Mark,
): Promise<boolean> {
  const target = storeIn(place.to, "zstd");
  let salvaged = 0;
  mark("open for salvage");
  const opened = await typed("opening for salvage", () =>
    subject.openSalvageSource(formatStoreName(storeIn(place.from, input.kind))),
  );
  if ("error" in opened) return false;
  {
    await using source = opened.value;
    const options = { clock, chunkWindowMs: 0, thread: "process", encoding: "zstd" } as const;
    await using store = await subject.openStore(target, options);
    const outcome = await typed("salvaging", async () => {
      for await (const session of source.sessions()) {
        mark(`salvage ${session.id}`);
        const result: SalvageResult = await subject.salvageSession(session, async () => store, { clock });
        if (result.state === "salvaged") salvaged += 1;
        if (result.state !== "failed") continue;
        need(
          !DEFECT.test(result.error.message),
          "what is salvaged is sound",
          () => `${session.id}: ${describe(result.error)}`,
        );
      }
    });
    if ("error" in outcome) return false;
  }
  if (salvaged === 0) return false;
  mark("verify what was salvaged");
  // Its events are new ones: they are none of the originals'.
  const codes = errorsIn(await verify(subject, { ...input, forged: true }, target, false));
  need(codes.length === 0, "what is salvaged is sound", () => codes.join(", "));
  return true;
}

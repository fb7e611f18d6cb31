import { expect } from "bun:test";
import type { Place } from "../../../src/session/errors.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { outcomesOf, rejectionOf } from "../../contract/support.ts";
import { type Place as Root, readLog } from "./place.ts";

/**
 * A log of which only the beginning is good: a stream gives out just that and then the error, everything else refuses,
 * and no byte below the root changes.
 */
export async function expectRefused(
  root: Root,
  store: SessionPersistence,
  id: string,
  texts: readonly string[],
  error: { readonly code: string; readonly place?: Place },
  what = id,
): Promise<void> {
  const before = root.contents();
  const { fault, ...reading } = await readLog(store, id);
  expect({ what, ...reading }).toEqual({ what, texts, torn: false });
  expect({ what, fault }).toMatchObject({ what, fault: error });
  expect(await rejectionOf(store.inspect(id))).toMatchObject(error);
  expect(await outcomesOf([store.load(id), store.prepare(id)])).toEqual([error.code, error.code]);
  expect({ what, ...root.contents() }).toEqual({ what, ...before });
}

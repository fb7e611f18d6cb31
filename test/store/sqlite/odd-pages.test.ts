import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { rejectionOf } from "../../contract/support.ts";
import { PAGE } from "./damaged.ts";
import { Place } from "./place.ts";

test("rows of another session that stand where a session's own were are not read as its own", async () => {
  using place = new Place();
  const of = (own: string) =>
    Array.from({ length: 300 }, (_, n) => ({ type: "session/title", data: { n, own } }) as const);
  await place.fill({ a: of("a"), b: of("b") });
  const bytes = readFileSync(place.path);
  const leaves = Array.from({ length: bytes.length / PAGE }, (_, k) => k * PAGE).filter(
    (at) => bytes[at] === 0x0d,
  );
  const pageOf = (text: string) => leaves.find((at) => bytes.subarray(at, at + PAGE).includes(text)) ?? 0;
  const [from, to] = [pageOf('{"n":150,"own":"a"}'), pageOf('{"n":150,"own":"b"}')];
  bytes.copyWithin(to, from, from + PAGE);
  writeFileSync(place.path, bytes);
  await using store = await place.open();
  expect(await rejectionOf(store.inspect("b"))).toMatchObject({
    code: "corrupt",
    message: expect.stringContaining("missing"),
  });
  const read: unknown[] = [];
  try {
    for await (const page of (await store.stream("b")).pages)
      read.push(...page.map(({ record }) => record.text));
  } catch {
    // Where the rows of the other session stand.
  }
  expect(read.length).toBeGreaterThan(50);
  expect(read.filter((text) => !String(text).includes('"own":"b"'))).toEqual([]);
  expect((await store.inspect("a")).log.length).toBe(300);
});

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openExaminer } from "../../../src/store/open-examiner.ts";
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

test.each([false, true])("a page that leads back to itself ends a check, deep: %p", async (deep) => {
  using place = new Place();
  const rows = Array.from({ length: 600 }, (_, n) => ({ type: "session/title", data: { n } }) as const);
  await place.fill({ a: rows });
  const bytes = readFileSync(place.path);
  const pages = Array.from({ length: bytes.length / PAGE }, (_, k) => k + 1);
  const interior = pages.filter((page) => bytes[(page - 1) * PAGE] === 0x05);
  expect(interior.length).toBeGreaterThan(0);
  for (const page of interior) {
    const start = (page - 1) * PAGE;
    for (let cell = 0; cell < bytes.readUInt16BE(start + 3); cell += 1) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt32BE(page, start + damaged.readUInt16BE(start + 12 + 2 * cell));
      writeFileSync(place.path, damaged);
      await using examiner = await openExaminer({ kind: "sqlite", path: place.path }, { deep });
      let [read, damages] = [0, 0];
      for await (const { items } of examiner.sessions()) {
        for await (const item of items()) {
          if (item.kind === "records") read += item.records.length;
          else damages += 1;
        }
      }
      expect(read).toBeLessThanOrEqual(600);
      expect(damages).toBeLessThan(1_000);
    }
  }
});

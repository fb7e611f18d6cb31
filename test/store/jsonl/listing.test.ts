import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { buildLog, headerText, titleText } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place } from "./place.ts";

const METHODS = ["list", "listSnapshots"] as const;
/** Names of which one is the beginning of another, and that sort in other ways with a separator between them. */
const PROJECTS = [
  "a",
  "a.b",
  "a-b",
  "a b",
  "a!",
  "a~0020b",
  "aa",
  "A",
  "--a--",
  "--a---b--",
  "_no-cwd",
  "é",
  "\u{1f980}",
  "\uffee",
];

function put(place: Place, id: string, project: string, encoding: "zstd" | "none" = "zstd"): void {
  place.put(id, encoding, buildLog(id, encoding, [[titleText(0)]]).bytes, project);
}

/** The ids of all pages. `between` runs after each page but the last, and is given what was listed so far. */
async function pages(
  store: SessionPersistence,
  method: (typeof METHODS)[number],
  limit: number,
  between: (listed: readonly string[]) => void = () => {},
): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await store[method]({ limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(items.map(({ id }) => id));
    cursor = nextCursor;
    if (cursor !== undefined) between(found.flat());
  } while (cursor !== undefined);
  return found;
}

describe.each(METHODS)("%s", (method) => {
  test("has each session on one page, whatever the names of its folders and the size of the pages", async () => {
    using place = new Place();
    const ids: string[] = [];
    for (const [k, project] of PROJECTS.entries()) {
      for (const name of ["s", "s.t", "s-t", "S", "~0020"]) {
        // One id lies in one project only.
        const folder = `${name}${k}`;
        place.put(
          folder,
          ENCODINGS[k % 2] ?? "zstd",
          buildLog("x", ENCODINGS[k % 2] ?? "zstd", []).bytes,
          project,
        );
        ids.push(folder.replace("~0020", " "));
      }
      place.file(join(place.root, project, `flat${k}.jsonl`), `${headerText(`flat${k}`)}\n`);
      ids.push(`flat${k}`);
    }
    await using store = await place.read();
    for (const limit of [1, 2, 3, 5, 7, 83, 84, 85, 1_000]) {
      const found = await pages(store, method, limit);
      expect(found.flat().toSorted()).toEqual(ids.toSorted());
      expect(found.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
      expect(found.length).toBe(Math.ceil(ids.length / limit));
    }
  });

  test("goes on after a session that is gone, and after a project that is gone", async () => {
    for (const gone of ["session", "project"] as const) {
      using place = new Place();
      const ids: string[] = [];
      for (const [k, project] of PROJECTS.entries()) {
        for (const name of ["p", "q"]) {
          put(place, `${name}${k}`, project);
          ids.push(`${name}${k}`);
        }
      }
      await using store = await place.read();
      const found = await pages(store, method, 3, (listed) => {
        const last = listed.at(-1) ?? "";
        const path = place.log(last, "zstd", PROJECTS[Number(last.slice(1))]);
        // What was listed is removed, up to the one that the cursor points at.
        rmSync(gone === "session" ? dirname(path) : dirname(dirname(path)), { recursive: true });
      });
      const listed = found.flat();
      expect(new Set(listed).size).toBe(listed.length);
      if (gone === "session") expect(listed.toSorted()).toEqual(ids.toSorted());
      // A project took at most one session with it that was not listed yet.
      else
        for (const [k] of PROJECTS.entries())
          expect(listed.some((id) => id.slice(1) === String(k))).toBe(true);
    }
  });

  test("has no session twice, and leaves none out, when others come between two pages", async () => {
    using place = new Place();
    const ids = PROJECTS.map((project, k) => {
      put(place, `s${k}`, project);
      return `s${k}`;
    });
    await using store = await place.read();
    let round = 0;
    const found = await pages(store, method, 2, () => {
      round += 1;
      // Those that sort behind the cursor are listed, too: without an end of them there is no last page.
      if (round > 3) return;
      for (const [k, project] of ["!", "a-", "a.", "b", "~"].entries()) put(place, `n${round}-${k}`, project);
      for (const [k, project] of PROJECTS.entries()) put(place, `r${round}-${k}`, project);
    });
    const listed = found.flat();
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted());
  });

  test("pages through several files of one session", async () => {
    using place = new Place();
    const files = [...Object.values(LOG_NAMES), "session.v2.jsonl.zstd", "session.v10.jsonl"];
    for (const id of ["s", "t"]) {
      for (const name of files) place.file(join(place.root, "--p--", id, name), `${headerText(id)}\n`);
    }
    await using store = await place.read();
    for (const limit of [1, 3, 4, 5, 8, 9]) {
      const found = (await pages(store, method, limit)).flat();
      expect(found).toEqual([...files.map(() => "s"), ...files.map(() => "t")]);
    }
  });

  test.each(["", "/", "a", "a/", "a/s0", "a/s0/", "a/s0/x/y", "../..", "zzz/", "\0", "é/s"])(
    "takes any text for a cursor, also %j",
    async (cursor) => {
      using place = new Place();
      for (const [k, project] of PROJECTS.entries()) put(place, `s${k}`, project);
      await using store = await place.read();
      const { items } = await store[method]({ cursor, limit: 1_000 });
      const all = (await store[method]({ limit: 1_000 })).items.map(({ id }) => id);
      const ids = items.map(({ id }) => id);
      expect(all.slice(all.length - ids.length)).toEqual(ids);
    },
  );

  test("has an empty page for a limit of nothing, for an empty root, and for one that is gone", async () => {
    using place = new Place();
    await (await place.open()).close();
    await using store = await place.read();
    expect(await store[method]()).toEqual({ items: [] });
    put(place, "s", "a");
    expect((await store[method]({ limit: 0 })).items).toEqual([]);
    rmSync(place.root, { recursive: true });
    expect(await store[method]()).toEqual({ items: [] });
  });
});

test("a listing says what it knows of each session, and where it lies", async () => {
  using place = new Place();
  put(place, "s", "--p--");
  put(place, "t", "--p--", "none");
  await using store = await place.read();
  expect(await store.list()).toEqual({
    items: ENCODINGS.map((encoding, k) => {
      const id = k === 0 ? "s" : "t";
      const header = { version: 0, id, createdAt: 1, cwd: "/p", delegationDepth: 0 } as const;
      return { id, header, location: place.log(id, encoding) };
    }),
  });
  const before = (await store.listSnapshots()).items;
  put(place, "t", "--p--", "none");
  const after = (await store.listSnapshots()).items;
  expect(after[0]).toEqual(before[0]);
  expect(after[1]?.revision).not.toBe(before[1]?.revision);
});

import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { outcomesOf, rejectionOf, titleAt } from "../../contract/support.ts";
import { buildLog, encodeBatch, headerText, titleText } from "./log-bytes.ts";
import { LOG_NAMES, Place, readLog } from "./place.ts";

const isRoot = process.getuid?.() === 0;
const GOOD = ["a-good", "z-good"] as const;

function log(id: string, encoding: "zstd" | "none" = "zstd"): Buffer {
  return buildLog(id, encoding, [[titleText(0)], [titleText(1)]]).bytes;
}

/** A root with a good session before and one after what is odd, in the same project and in others. */
function rootWith(put: (place: Place) => void): Place {
  const place = new Place();
  place.put("a-good", "zstd", log("a-good"));
  place.put("z-good", "none", log("z-good", "none"));
  place.put("first", "zstd", log("first"), "--a--");
  place.put("last", "none", log("last", "none"), "--z--");
  put(place);
  return place;
}

async function expectGood(store: SessionPersistence): Promise<void> {
  const { items } = await store.list();
  const ids = new Set((await store.listSnapshots()).items.map(({ id }) => id));
  for (const id of ["first", ...GOOD, "last"]) {
    const listed = items.filter((item) => item.id === id);
    expect(listed.map(({ header, problem }) => [header?.id, problem])).toEqual([[id, undefined]]);
    expect(ids.has(id)).toBe(true);
    const { texts, torn, fault } = await readLog(store, id);
    expect([texts.slice(0, 2), torn, fault]).toEqual([[titleText(0), titleText(1)], false, undefined]);
    expect((await store.readFrom(id, 1, { limit: 1 })).map(({ seq }) => seq)).toEqual([1]);
  }
}

interface Oddity {
  readonly put: (place: Place) => void;
  /** State in which `odd` is listed; nothing when it is not. */
  readonly state?: "corrupt" | "unsupported" | "duplicate" | "unreadable";
  /** How reading it ends. */
  readonly code: string;
}

const odd = (place: Place, name: string, bytes: Uint8Array | string) =>
  place.file(join(place.root, "--p--/odd", name), bytes);
const halfOf = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1);
const folder = (place: Place, ...names: string[]) =>
  mkdirSync(join(place.root, ...names), { recursive: true });
const link = (place: Place, target: string, ...names: string[]) => {
  folder(place, ...names.slice(0, -1));
  symlinkSync(target, join(place.root, ...names));
};

const ODDITIES: Readonly<Record<string, Oddity>> = {
  "a stray file in the root": {
    put: (place) => place.file(join(place.root, "notes.txt"), "x"),
    code: "not-found",
  },
  "a stray file in a project": {
    put: (place) => place.file(join(place.root, "--p--/notes.txt"), "x"),
    code: "not-found",
  },
  "a session's folder that is empty": { put: (place) => folder(place, "--p--", "odd"), code: "not-found" },
  "a session's folder with other files": {
    put: (place) => odd(place, "session.jsonl.bak", "x"),
    code: "not-found",
  },
  "a project that is empty": { put: (place) => folder(place, "--odd--"), code: "not-found" },
  "a log that lies in the root": {
    put: (place) => place.file(join(place.root, LOG_NAMES.zstd), log("odd")),
    code: "not-found",
  },
  "a folder too deep": {
    put: (place) => place.file(join(place.root, "--p--/x/odd/session.jsonl"), log("odd", "none")),
    code: "not-found",
  },
  "a later format alone": {
    put: (place) => odd(place, "session.v3.jsonl.zstd", "?"),
    state: "unsupported",
    code: "unsupported-format",
  },
  "a later format of plain lines": {
    put: (place) => odd(place, "session.v12.jsonl", "?"),
    state: "unsupported",
    code: "unsupported-format",
  },
  "a header of a later version": {
    put: (place) =>
      odd(place, LOG_NAMES.none, encodeBatch([headerText("odd", { version: 1, id: 7 })], "none")),
    state: "unsupported",
    code: "unsupported-format",
  },
  "a header of an older version": {
    put: (place) => odd(place, LOG_NAMES.zstd, encodeBatch([headerText("odd", { version: -1 })], "zstd")),
    state: "unsupported",
    code: "unsupported-format",
  },
  "a header of another id": {
    put: (place) => odd(place, LOG_NAMES.zstd, log("other")),
    state: "corrupt",
    code: "corrupt",
  },
  "a header that is no JSON": {
    put: (place) => odd(place, LOG_NAMES.none, "{\n"),
    state: "corrupt",
    code: "corrupt",
  },
  "a header that is a list": {
    put: (place) => odd(place, LOG_NAMES.none, "[0]\n"),
    state: "corrupt",
    code: "corrupt",
  },
  "a header that is an event": {
    put: (place) => odd(place, LOG_NAMES.none, `${titleText(0)}\n`),
    state: "corrupt",
    code: "corrupt",
  },
  "a header that is no UTF-8": {
    put: (place) => odd(place, LOG_NAMES.none, Buffer.from([0xff, 0x0a])),
    state: "corrupt",
    code: "corrupt",
  },
  "an empty file, frames": {
    put: (place) => odd(place, LOG_NAMES.zstd, ""),
    state: "corrupt",
    code: "corrupt",
  },
  "an empty file, lines": {
    put: (place) => odd(place, LOG_NAMES.none, ""),
    state: "corrupt",
    code: "corrupt",
  },
  "zeros alone": {
    put: (place) => odd(place, LOG_NAMES.zstd, Buffer.alloc(4_096)),
    state: "corrupt",
    code: "corrupt",
  },
  "half a header, frames": {
    put: (place) => odd(place, LOG_NAMES.zstd, halfOf(encodeBatch([headerText("odd")], "zstd"))),
    state: "corrupt",
    code: "corrupt",
  },
  "half a header, lines": {
    put: (place) => odd(place, LOG_NAMES.none, halfOf(encodeBatch([headerText("odd")], "none"))),
    state: "corrupt",
    code: "corrupt",
  },
  "two lines in the header's frame": {
    put: (place) => odd(place, LOG_NAMES.zstd, encodeBatch([headerText("odd"), titleText(0)], "zstd")),
    state: "corrupt",
    code: "corrupt",
  },
  "plain lines under the name of frames": {
    put: (place) => odd(place, LOG_NAMES.zstd, log("odd", "none")),
    state: "corrupt",
    code: "corrupt",
  },
  "frames under the name of plain lines": {
    put: (place) => odd(place, LOG_NAMES.none, log("odd")),
    state: "corrupt",
    code: "corrupt",
  },
  "a log that is a folder": {
    put: (place) => folder(place, "--p--", "odd", LOG_NAMES.zstd),
    state: "unreadable",
    code: "storage-failed",
  },
  "a log that is a link to nothing": {
    put: (place) => link(place, "nowhere", "--p--", "odd", LOG_NAMES.zstd),
    state: "unreadable",
    code: "storage-failed",
  },
  "a log that is a link to itself": {
    put: (place) => link(place, LOG_NAMES.zstd, "--p--", "odd", LOG_NAMES.zstd),
    state: "unreadable",
    code: "storage-failed",
  },
  "a log below a file": {
    put: (place) => link(place, "../a-good/session.jsonl.zstd/x", "--p--", "odd", LOG_NAMES.zstd),
    state: "unreadable",
    code: "storage-failed",
  },
  "a log that is a device": {
    put: (place) => link(place, "/dev/full", "--p--", "odd", LOG_NAMES.none),
    state: "unreadable",
    code: "storage-failed",
  },
  "a session's folder that is a link to nothing": {
    put: (place) => link(place, "nowhere", "--p--", "odd"),
    code: "not-found",
  },
  "a session's folder that is a link to itself": {
    put: (place) => link(place, "odd", "--p--", "odd"),
    code: "not-found",
  },
  "a project that is a link to nothing": {
    put: (place) => link(place, "nowhere", "--odd--"),
    code: "not-found",
  },
  "a project that is a link to itself": {
    put: (place) => link(place, "--odd--", "--odd--"),
    code: "not-found",
  },
  "a project that is a link to the root": { put: (place) => link(place, ".", "--odd--"), code: "not-found" },
  "a folder named like a draft": {
    put: (place) => folder(place, "--p--", "odd", ".holdfast-draft-0"),
    code: "not-found",
  },
};

describe.each(Object.entries(ODDITIES))("%s", (_, { put, state, code }) => {
  test("is reported, keeps no other session from being listed or read, and is left as it is", async () => {
    using place = rootWith(put);
    const before = place.contents();
    await using store = await place.read();
    await expectGood(store);
    const listed = (await store.list()).items.filter(({ id }) => id === "odd");
    expect(listed.map(({ problem }) => problem?.state)).toEqual(state === undefined ? [] : [state]);
    for (const { problem, location } of listed) {
      expect(problem?.reason).not.toBe("");
      expect(location).toStartWith(join(place.root, "--p--", "odd"));
    }
    const ways = [store.inspect("odd"), readLog(store, "odd"), store.load("odd"), store.prepare("odd")];
    expect(await outcomesOf(ways)).toEqual(ways.map(() => code));
    expect(place.contents()).toEqual(before);
  });

  test("keeps no root from being opened for writing, and no other session from going on", async () => {
    using place = rootWith(put);
    const before = place.contents();
    {
      await using store = await place.open();
      await expectGood(store);
      expect(await outcomesOf([store.load("odd"), store.append("odd", [titleAt(0)])])).toEqual([code, code]);
      for (const id of GOOD) await store.append(id, [titleAt(2)]);
      await expectGood(store);
    }
    const untouched = (contents: Record<string, string>) =>
      Object.entries(contents).filter(([name]) => !name.includes("-good/session"));
    expect(untouched(place.contents())).toEqual(untouched(before));
  });
});

describe("a session that cannot be read by this user", () => {
  test.skipIf(isRoot).each(["file", "folder", "project"])(
    "keeps no other from being listed or read: no rights on the %s (skipped for root, who may read all)",
    async (what) => {
      const project = what === "project" ? "--odd--" : "--p--";
      using place = rootWith((made) => made.put("odd", "zstd", log("odd"), project));
      const path = place.log("odd", "zstd", project);
      const locked = { file: path, folder: join(path, ".."), project: join(path, "../..") }[what] ?? path;
      chmodSync(locked, 0);
      try {
        await using store = await place.read();
        await expectGood(store);
        const error = await rejectionOf(store.inspect("odd"));
        expect(error).toMatchObject({ code: "storage-failed" });
        const problems = (await store.list()).items.map(({ problem }) => problem?.state);
        expect(problems).toContain("unreadable");
        await using writing = await place.open();
        await writing.append("a-good", [titleAt(2)]);
        // Whether the id is free is not known.
        const taken = await rejectionOf(writing.create({ version: 0, id: "odd", createdAt: 0 }));
        expect(taken).toMatchObject({ code: expect.stringMatching(/^(storage-failed|already-exists)$/) });
      } finally {
        chmodSync(locked, 0o700);
      }
    },
  );
});

import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { outcomesOf, rejectionOf, title } from "../../contract/support.ts";
import { buildLog, encodeBatch, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

/* Somebody else changes a log under the session that is open on it: nothing of theirs is lost, nothing of ours forks. */

const header = (id: string, cwd = "/p") => ({ version: 0, id, createdAt: 1, cwd }) as const;

interface Change {
  readonly change: (place: Place, path: string, encoding: (typeof ENCODINGS)[number]) => void;
  readonly code: string;
  /** In which encodings the session is in order for who opens it next. */
  readonly usable: ReadonlyArray<(typeof ENCODINGS)[number]>;
}

const CHANGES: Readonly<Record<string, Change>> = {
  "was deleted": { change: (_, path) => rmSync(path), code: "storage-failed", usable: [] },
  "went with its folder": {
    change: (_, path) => rmSync(dirname(path), { recursive: true }),
    code: "storage-failed",
    usable: [],
  },
  "went with its project": {
    change: (_, path) => rmSync(dirname(dirname(path)), { recursive: true }),
    code: "storage-failed",
    usable: [],
  },
  "was replaced by an equal copy": {
    change: (_, path) => {
      cpSync(path, `${path}.new`);
      renameSync(`${path}.new`, path);
    },
    code: "storage-failed",
    usable: ENCODINGS,
  },
  "was replaced by another log": {
    change: (place, path, encoding) => {
      const other = buildLog("s", encoding, [[titleText(0)], [titleText(1)], [titleText(2)]]);
      renameSync(place.file(`${path}.new`, other.bytes), path);
    },
    code: "storage-failed",
    usable: ENCODINGS,
  },
  "was moved to another project": {
    change: (place, path) => {
      cpSync(dirname(path), join(place.root, "--moved--", "s"), { recursive: true });
      rmSync(dirname(path), { recursive: true });
    },
    code: "storage-failed",
    usable: ENCODINGS,
  },
  "was written over with another log": {
    change: (_, path, encoding) => writeFileSync(path, buildLog("s", encoding, [[titleText(0)]]).bytes),
    code: "sequence-conflict",
    usable: ENCODINGS,
  },
  "was emptied": { change: (_, path) => truncateSync(path, 0), code: "corrupt", usable: [] },
  "was cut within its last batch": {
    change: (_, path) => truncateSync(path, readFileSync(path).length - 3),
    code: "storage-failed",
    usable: ENCODINGS,
  },
  "was cut between two batches": {
    change: (_, path, encoding) => {
      const last = encodeBatch(
        [JSON.stringify({ type: "session/title", seq: 1, time: 1_700_000_000_000, data: { n: 1 } })],
        encoding,
      );
      truncateSync(path, readFileSync(path).length - last.length);
    },
    code: "sequence-conflict",
    usable: ENCODINGS,
  },
  "grew by the next event": {
    change: (_, path, encoding) => appendFileSync(path, encodeBatch([titleText(2)], encoding)),
    code: "sequence-conflict",
    usable: ENCODINGS,
  },
  // Behind the last Turn's end, lines of another branch are a torn tail; a whole frame of them is not.
  "grew by a batch of another branch": {
    change: (_, path, encoding) =>
      appendFileSync(path, encodeBatch([titleText(1), titleText(2), titleText(3)], encoding)),
    code: "sequence-conflict",
    usable: ["none"],
  },
  "grew by half a batch": {
    change: (_, path, encoding) =>
      appendFileSync(path, encodeBatch([titleText(2)], encoding).subarray(0, -5)),
    code: "storage-failed",
    usable: ENCODINGS,
  },
  "grew by zeros": {
    change: (_, path) => appendFileSync(path, Buffer.alloc(600)),
    code: "storage-failed",
    usable: ENCODINGS,
  },
};

for (const encoding of ENCODINGS) {
  describe.each(Object.entries(CHANGES))(
    `a log that %s, encoding ${encoding}`,
    (_, { change, code, usable }) => {
      test("takes no more from the session that was open on it; nothing is written over, nothing comes back", async () => {
        using place = new Place();
        const path = place.log("s", encoding);
        {
          await using store = await place.open(encoding);
          const session = await store.create(header("s"));
          await session.log.append(title(0));
          await session.log.append(title(1));
          const other = await store.create(header("t", "/q"));
          await other.log.append(title(0));
          change(place, path, encoding);
          const before = place.contents();
          for (let round = 0; round < 3; round += 1) {
            const error = await rejectionOf(session.log.append(title(2 + round)));
            expect(error).toMatchObject({ code });
            expect(session.log.length).toBe(2);
            expect(place.contents()).toEqual(before);
          }
          if (code === "storage-failed") expect(await store.health()).toMatchObject({ writable: false });
          // A session's trouble is its own, also within one commit.
          const both = [session.log.append(title(9)), other.log.append(title(1))];
          expect(await outcomesOf(both)).toEqual([code, "ok"]);
          expect(existsSync(path)).toBe(Object.keys(before).some((name) => join(place.root, name) === path));
        }
        await using again = await place.open(encoding);
        const [outcome] = await outcomesOf([again.load("s")]);
        expect(outcome === "ok").toBe(usable.includes(encoding));
        expect((await readLog(again, "t")).texts.length).toBe(2);
      });
    },
  );

  test(`a log that was replaced takes appends again once it is opened anew, encoding ${encoding}`, async () => {
    using place = new Place();
    await using store = await place.open(encoding);
    const path = place.log("s", encoding);
    {
      await using session = await store.create(header("s"));
      await session.log.append(title(0));
      cpSync(path, `${path}.new`);
      renameSync(`${path}.new`, path);
      expect(await outcomesOf([session.log.append(title(1))])).toEqual(["storage-failed"]);
    }
    const [outcome] = await outcomesOf([
      store.prepare("s").then(async (made) => {
        await using session = made.publish();
        await session.log.append(title(1));
      }),
    ]);
    // Refused, as the hint says, until the program is started again; or taken. Never half of it.
    expect(["ok", "storage-failed"]).toContain(outcome ?? "");
    expect((await readLog(store, "s")).texts.length).toBe(outcome === "ok" ? 2 : 1);
  });
}

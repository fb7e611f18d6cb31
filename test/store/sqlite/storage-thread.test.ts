import { describe, expect, test } from "bun:test";
import { outcomesOf, rejectionOf, title, titleAt } from "../../contract/support.ts";
import { Place, put } from "./place.ts";

/** Catches the storage thread of the next store that is opened, to end it the hard way. */
class ThreadCatcher implements Disposable {
  static readonly #original = globalThis.Worker;
  #caught: Worker | undefined;

  constructor() {
    const keep = (worker: Worker) => {
      this.#caught = worker;
    };
    globalThis.Worker = class extends ThreadCatcher.#original {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options);
        keep(this);
      }
    };
  }

  get thread(): Worker {
    if (this.#caught === undefined) throw new Error("no thread was started");
    return this.#caught;
  }

  [Symbol.dispose](): void {
    globalThis.Worker = ThreadCatcher.#original;
  }
}

describe("a storage thread that dies", () => {
  test("is a failed store, loudly: what is under way fails, and so does everything after it", async () => {
    using place = new Place();
    using catcher = new ThreadCatcher();
    const store = await place.open(place.path, "worker");
    await put(store, "s", [title(0)]);
    const underWay = outcomesOf([store.append("s", [titleAt(1)])]);
    catcher.thread.terminate();
    expect(["ok", "storage-failed"]).toContain((await underWay)[0] ?? "");

    const stored = (await store.readFrom("s", 0)).length;
    const next = { ...titleAt(stored), seq: stored };
    expect(await rejectionOf(store.append("s", [next]))).toMatchObject({
      code: "storage-failed",
      message: expect.stringContaining("thread"),
    });
    expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
    await store.close();

    await using again = await place.open();
    expect((await again.readFrom("s", 0)).length).toBe(stored);
  });

  test("does not keep the next process from the store: the lock is freed on closing", async () => {
    using place = new Place();
    using catcher = new ThreadCatcher();
    const store = await place.open(place.path, "worker");
    catcher.thread.terminate();
    // Closing may be what finds out.
    expect(["ok", "storage-failed"]).toContain((await outcomesOf([store.close()]))[0] ?? "");
    await using again = await place.open(place.path, "worker");
    await put(again, "s", [title(0)]);
    expect((await again.list()).items.length).toBe(1);
  });
});

describe("opening on the storage thread", () => {
  test("throws what opening threw there, typed", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run("DROP VIEW session_events");
    expect(await rejectionOf(place.open(place.path, "worker"))).toMatchObject({ code: "corrupt" });
  });
});

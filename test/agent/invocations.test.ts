import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ClosingError, DuplicateInvocationError, QueueFullError, TurnAbort } from "../../src/agent/errors.ts";
import { InvocationQueue, type InvocationTask } from "../../src/agent/invocations.ts";
import type { TurnResult } from "../../src/agent/turn.ts";
import { drained, state } from "../fixtures/held-sink.ts";

const USAGE = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

function result(turn: number): TurnResult {
  return { turn, steps: 1, reason: { kind: "completed" }, message: `answer ${turn}`, usage: USAGE };
}

/** A task that ends when the test says so. */
class HeldTask {
  readonly #answer = Promise.withResolvers<TurnResult>();
  signal: AbortSignal | undefined;

  readonly run: InvocationTask = (signal) => {
    this.signal = signal;
    return this.#answer.promise;
  };

  get started(): boolean {
    return this.signal !== undefined;
  }

  end(turn = 1): void {
    this.#answer.resolve(result(turn));
  }

  fail(error: unknown): void {
    this.#answer.reject(error);
  }
}

/** What a client waits for, whether its invocation was queued or refused. */
function submit(queue: InvocationQueue, id: string, task: InvocationTask): Promise<TurnResult> {
  try {
    return queue.enqueue(id, task).answer;
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A queue with as many held tasks, submitted in order under the ids `0`, `1`, … */
function queueOf(count: number, capacity?: number) {
  const queue = new InvocationQueue(capacity);
  const tasks = Array.from({ length: count }, () => new HeldTask());
  const answers = tasks.map((task, k) => submit(queue, String(k), task.run));
  for (const answer of answers) answer.catch(() => undefined);
  return { queue, tasks, answers };
}

function started(tasks: readonly HeldTask[]): boolean[] {
  return tasks.map((task) => task.started);
}

describe("order", () => {
  test("one at a time, in the order they came", async () => {
    const { tasks, answers } = queueOf(3);
    expect(started(tasks)).toEqual([true, false, false]);
    tasks[0]?.end(1);
    expect(await answers[0]).toEqual(result(1));
    await drained();
    expect(started(tasks)).toEqual([true, true, false]);
    tasks[2]?.end(3);
    expect(await state(Promise.all(answers))).toBe("pending");
    tasks[1]?.end(2);
    expect((await Promise.all(answers)).map(({ turn }) => turn)).toEqual([1, 2, 3]);
  });

  test("one that fails takes none of the others along", async () => {
    const { tasks, answers } = queueOf(2);
    tasks[0]?.fail(new Error("broken"));
    tasks[1]?.end(2);
    await expect(answers[0] ?? Promise.resolve()).rejects.toThrow("broken");
    expect(await answers[1]).toEqual(result(2));
  });

  test("a task that throws before it returns a promise is a task that failed", async () => {
    const queue = new InvocationQueue();
    const answer = submit(queue, "a", () => {
      throw new Error("at once");
    });
    await expect(answer).rejects.toThrow("at once");
    expect(await submit(queue, "a", async () => result(1))).toEqual(result(1));
  });

  test("what comes while the queue is empty begins at once, every time", async () => {
    const queue = new InvocationQueue();
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(await submit(queue, "a", async () => result(turn))).toEqual(result(turn));
    }
  });

  test("one that is submitted as the last one ends is not forgotten", async () => {
    const { queue, tasks, answers } = queueOf(1);
    const next = new HeldTask();
    const chained = answers[0]?.then(() => submit(queue, "next", next.run));
    tasks[0]?.end();
    await drained();
    expect(next.started).toBe(true);
    next.end(2);
    expect(await chained).toEqual(result(2));
  });
});

describe("ids", () => {
  test("one that is queued or running is refused, and the refusal changes nothing", async () => {
    const { queue, tasks, answers } = queueOf(2);
    for (const id of ["0", "1"]) {
      await expect(submit(queue, id, new HeldTask().run)).rejects.toMatchObject({
        code: "invocation-duplicate",
      });
    }
    for (const task of tasks) task.end();
    expect(await Promise.all(answers)).toHaveLength(2);
  });

  test("one that has its answer can be used again", async () => {
    const { queue, tasks, answers } = queueOf(1);
    tasks[0]?.end(1);
    await answers[0];
    expect(await submit(queue, "0", async () => result(2))).toEqual(result(2));
  });

  test("one whose running Turn was cancelled stays taken until it has ended", async () => {
    const { queue, tasks, answers } = queueOf(1);
    queue.cancel("0");
    await expect(submit(queue, "0", new HeldTask().run)).rejects.toMatchObject({
      code: "invocation-duplicate",
    });
    tasks[0]?.end();
    await answers[0];
    await drained();
    expect(await submit(queue, "0", async () => result(2))).toEqual(result(2));
  });
});

describe("capacity", () => {
  test("counts those that wait; one more is refused until one has ended", async () => {
    const { queue, tasks, answers } = queueOf(3, 2);
    const late = new HeldTask();
    await expect(submit(queue, "late", late.run)).rejects.toMatchObject({ code: "queue-full" });
    tasks[0]?.end();
    await answers[0];
    await drained();
    const answer = submit(queue, "late", late.run);
    for (const task of [...tasks, late]) task.end(9);
    expect(await answer).toEqual(result(9));
  });

  test("cancelling a queued one makes room", async () => {
    const { queue, tasks } = queueOf(3, 2);
    expect(queue.cancel("1")).toBe(true);
    const late = new HeldTask();
    const answer = submit(queue, "late", late.run);
    for (const task of [...tasks, late]) task.end(9);
    expect(await answer).toEqual(result(9));
  });
});

describe("a refusal", () => {
  test("is thrown at once by enqueue, so that whoever answers knows before the Turn is queued", async () => {
    const { queue, tasks } = queueOf(2, 1);
    const late = new HeldTask();
    expect(() => queue.enqueue("0", late.run)).toThrow(DuplicateInvocationError);
    expect(() => queue.enqueue("late", late.run)).toThrow(QueueFullError);
    const closed = queue.close();
    expect(() => queue.enqueue("late", late.run)).toThrow(ClosingError);
    tasks[0]?.end();
    await closed;
    expect(late.started).toBe(false);
  });
});

describe("cancelling", () => {
  test("a queued one never runs, and the order of the others stays", async () => {
    const { queue, tasks, answers } = queueOf(4);
    expect(queue.cancel("1")).toBe(true);
    await expect(answers[1] ?? Promise.resolve()).rejects.toMatchObject({ code: "invocation-cancelled" });
    for (const task of tasks) task.end();
    await Promise.allSettled(answers);
    await drained();
    expect(started(tasks)).toEqual([true, false, true, true]);
  });

  test("a running one hears it through its signal, and its own answer counts", async () => {
    const { queue, tasks, answers } = queueOf(2);
    expect(queue.cancel("0")).toBe(true);
    expect(tasks[0]?.signal?.reason).toBeInstanceOf(TurnAbort);
    expect(tasks[0]?.signal?.reason).toMatchObject({ kind: "user" });
    expect(await state(answers[0] ?? Promise.resolve())).toBe("pending");
    expect(tasks[1]?.started).toBe(false);
    tasks[0]?.end(7);
    expect(await answers[0]).toEqual(result(7));
    await drained();
    expect(tasks[1]?.signal?.aborted).toBe(false);
    tasks[1]?.end();
  });

  test("one that was never sent or has its answer is not there", async () => {
    const { queue, tasks, answers } = queueOf(1);
    expect(queue.cancel("other")).toBe(false);
    tasks[0]?.end();
    await answers[0];
    await drained();
    expect(queue.cancel("0")).toBe(false);
  });
});

describe("closing", () => {
  test("refuses what is queued and what comes, and waits for the running one", async () => {
    const { queue, tasks, answers } = queueOf(3);
    const closed = queue.close();
    expect(tasks[0]?.signal?.reason).toMatchObject({ kind: "disposed" });
    for (const answer of answers.slice(1)) await expect(answer).rejects.toMatchObject({ code: "closing" });
    await expect(submit(queue, "late", new HeldTask().run)).rejects.toMatchObject({ code: "closing" });
    expect(await state(closed)).toBe("pending");
    tasks[0]?.end();
    await closed;
    expect(await answers[0]).toEqual(result(1));
    expect(started(tasks)).toEqual([true, false, false]);
  });

  test("an empty queue closes at once, and twice is once", async () => {
    const queue = new InvocationQueue();
    await Promise.all([queue.close(), queue.close()]);
    await queue.close();
  });

  test("closing twice while one runs: both wait for it", async () => {
    const { queue, tasks } = queueOf(1);
    const both = Promise.all([queue.close(), queue.close()]);
    expect(await state(both)).toBe("pending");
    tasks[0]?.fail(new Error("late"));
    await both;
  });
});

describe("whatever is asked in whatever order", () => {
  type Step = { readonly kind: "submit" | "cancel"; readonly id: number } | { readonly kind: "end" | "fail" };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom("submit" as const, "cancel" as const), id: fc.nat(5) }),
    fc.record({ kind: fc.constantFrom("end" as const, "fail" as const) }),
  );
  const CAPACITY = 3;

  test("Turns run one at a time in the order of their invocations, and each is answered once", async () => {
    const run = async (steps: readonly Step[]) => {
      const queue = new InvocationQueue(CAPACITY);
      // What should be queued or running, the running one first, and which of them should have run.
      let live: Array<{ readonly id: number; readonly task: HeldTask; readonly answer: Promise<string> }> =
        [];
      const expected: HeldTask[] = [];
      const ran: HeldTask[] = [];
      const begin = () => {
        const [first] = live;
        if (first !== undefined && !expected.includes(first.task)) expected.push(first.task);
      };
      for (const { kind, ...rest } of steps) {
        const id = "id" in rest ? rest.id : -1;
        const [first] = live;
        if (kind === "submit") {
          const task = new HeldTask();
          const answer = submit(queue, `${id}`, (signal) => {
            ran.push(task);
            return task.run(signal);
          }).then(
            () => "answered",
            (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "failed"),
          );
          if (live.some((other) => other.id === id)) expect(await answer).toBe("invocation-duplicate");
          else if (live.length > CAPACITY) expect(await answer).toBe("queue-full");
          else live.push({ id, task, answer });
        } else if (kind === "cancel") {
          const known = live.find((other) => other.id === id);
          expect(queue.cancel(`${id}`)).toBe(known !== undefined);
          if (known !== undefined && known !== first) {
            live = live.filter((other) => other !== known);
            expect(await known.answer).toBe("invocation-cancelled");
          }
        } else if (first !== undefined) {
          if (kind === "end") first.task.end();
          else first.task.fail(new Error("broken"));
          expect(await first.answer).toBe(kind === "end" ? "answered" : "failed");
          live = live.slice(1);
        }
        await drained();
        begin();
        expect(ran).toEqual(expected);
      }
      const closed = queue.close();
      live[0]?.task.end();
      await closed;
      const answers = await Promise.all(live.map(({ answer }) => answer));
      expect(answers).toEqual(live.map((_, k) => (k === 0 ? "answered" : "closing")));
      expect(ran).toEqual(expected);
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), run), { numRuns: 150 });
  });
});

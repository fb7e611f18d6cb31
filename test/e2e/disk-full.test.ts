import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findLog } from "../../src/store/jsonl/directory.ts";
import { hangingReply, killWhen, streamed } from "../fixtures/conversation.ts";
import type { Answer, ReadSession } from "../fixtures/host-client.ts";
import { DURABLE_STORES, HostLab, type StoreKind } from "../fixtures/host-lab.ts";
import type { HostProcess } from "../fixtures/host-process.ts";
import { tearLog } from "../fixtures/log-files.ts";
import { always } from "../fixtures/model-replies.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { type Reply, textReply } from "../fixtures/provider-server.ts";
import { TinyDisk } from "../fixtures/tiny-disk.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** An input that takes its size on the disk, however it is compressed. */
function large(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(40_000))).toString("base64");
}

/** A small disk of its own, and what starts Hosts on it. Gone when it is disposed, after the Hosts. */
async function labOn(
  kind: StoreKind,
  resources: AsyncDisposableStack,
  replies: readonly Reply[] = always(textReply("Noted.")),
): Promise<readonly [TinyDisk, HostLab]> {
  const disk = TinyDisk.mount();
  if (disk === undefined) throw new Error("a moment ago this was allowed");
  resources.use(disk);
  return [disk, resources.use(await HostLab.at(disk.folder, kind, ...replies))];
}

function readiness(host: HostProcess): Promise<Response> {
  return fetch(`${host.url}/readyz`);
}

async function expectFull(host: HostProcess): Promise<void> {
  const problem = await expectProblem(await readiness(host), 503, "storage-full");
  expect(problem.state).toBe("degraded");
}

/** Sends inputs until one finds no room. */
async function invokeUntilFull(host: HostProcess): Promise<Answer> {
  for (;;) {
    const answer = await host.client.invoke(large());
    if (answer.status !== 200) return answer;
  }
}

function expectNoGap({ events, nextSeq }: ReadSession): void {
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: nextSeq }, (_, seq) => seq));
}

/** Ends the Host and starts another one: it shows the same. */
async function expectKept(lab: HostLab, host: HostProcess): Promise<void> {
  const { text } = await host.client.read();
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  expect((await (await lab.start()).client.read()).text).toBe(text);
}

describe.skipIf(!TinyDisk.isAllowed).each(DURABLE_STORES)(
  "a full disk (a small one is mounted; skipped where that is not allowed), sessions in %s",
  (kind) => {
    test.each([0, 100_000])(
      "under a running Host, %d bytes short of full: 507, degraded and readable, and freed space is enough",
      async (spare) => {
        await using resources = new AsyncDisposableStack();
        const [disk, lab] = await labOn(kind, resources);
        const host = await lab.start();
        expect((await host.client.invoke("Hello?")).status).toBe(200);
        disk.fill(spare);
        expect(await invokeUntilFull(host)).toMatchObject({ status: 507, body: { code: "storage-full" } });

        const before = await host.client.read();
        expectNoGap(before);
        // Asking does not make it better, and what was refused has left nothing.
        for (const _ of [1, 2]) {
          await expectFull(host);
          expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
          expect((await host.client.read()).text).toBe(before.text);
        }
        expect(await host.client.invoke(large())).toMatchObject({
          status: 507,
          body: { code: "storage-full" },
        });
        await expectFull(host);

        disk.free();
        // Nobody needs to try first: whoever sends only to Hosts that are ready would wait for ever.
        expect((await readiness(host)).status).toBe(200);
        expect((await host.client.invoke("Still there?")).status).toBe(200);
        const after = await host.client.read();
        expectNoGap(after);
        expect(after.text).toContain("Still there?");
        expect(after.events.slice(0, before.nextSeq)).toEqual(before.events);
        await expectKept(lab, host);
      },
    );

    test("before the first event: nothing is stored, and the first invocation that finds room begins at 0", async () => {
      await using resources = new AsyncDisposableStack();
      const [disk, lab] = await labOn(kind, resources);
      const host = await lab.start();
      disk.fill();
      expect(await host.client.invoke("Hello?")).toMatchObject({
        status: 507,
        body: { code: "storage-full" },
      });
      expect((await host.client.read()).nextSeq).toBe(0);
      await expectFull(host);
      disk.free();
      // This time the invocation itself is what finds out.
      expect(await host.client.invoke("Hello!")).toMatchObject({ status: 200, body: { turn: 1 } });
      expect((await readiness(host)).status).toBe(200);
      expectNoGap(await host.client.read());
      await expectKept(lab, host);
    });

    test("at the start: the Host says so and leaves nothing half made, or starts and refuses what it cannot keep", async () => {
      await using resources = new AsyncDisposableStack();
      const [disk, lab] = await labOn(kind, resources);
      disk.fill();
      await expectHeldUp(lab);
      expect(existsSync(join(disk.folder, "agent.db"))).toBe(false);
      disk.free();
      const first = await lab.start();
      expect((await first.client.invoke("Hello?")).status).toBe(200);
      const { events } = await first.client.read();
      await first.stop("SIGTERM");

      disk.fill();
      await expectHeldUp(lab);
      disk.free();
      const second = await lab.start();
      expect((await second.client.invoke("Still there?")).status).toBe(200);
      const after = await second.client.read();
      expectNoGap(after);
      expect(after.events.slice(0, events.length)).toEqual(events);
    });

    test("when an interrupted Turn or a torn log is to be repaired: nothing is lost, and it is done when there is room", async () => {
      await using resources = new AsyncDisposableStack();
      const replies = [textReply("Noted."), hangingReply("One, ", "two, ", "three")];
      const [disk, lab] = await labOn(kind, resources, replies);
      const first = await lab.start();
      await first.client.invoke("Hello?");
      const { nextSeq } = await first.client.read();
      await killWhen(first, large(), streamed(first, "three"));
      const log = kind === "sqlite" ? undefined : findLog(lab.store, "default")?.path;
      if (log !== undefined) tearLog(log, "zstd");
      const torn = log === undefined ? undefined : readFileSync(log);

      disk.fill();
      expect(await refusalToStart(lab)).toContain("storage is full");
      if (log !== undefined) expect(readFileSync(log)).toEqual(torn ?? Buffer.of());
      disk.free();
      const second = await lab.start();
      const closed = await second.client.read();
      expectNoGap(closed);
      expect(closed.nextSeq).toBeGreaterThan(nextSeq);
      expect(closed.transcript.map((entry) => `${entry.kind} ${entry.turn}`)).toEqual([
        "user 1",
        "assistant 1",
        "user 2",
        // The log was torn within what was said.
        ...(log === undefined ? ["assistant 2"] : []),
        "turn-end 2",
      ]);
      await expectKept(lab, second);
    });
  },
);

/** What a Host that does not start says on stderr; its exit code is 1. */
async function refusalToStart(lab: HostLab): Promise<string> {
  const message = await lab.start().then(
    () => "it started",
    (error: Error) => error.message,
  );
  expect(message).toContain('{"code":1}');
  return message;
}

/** A database needs room to be opened for writing; a folder of logs does not. */
async function expectHeldUp(lab: HostLab): Promise<void> {
  if (lab.kind === "sqlite") {
    expect(await refusalToStart(lab)).toMatch(
      /^holdfast: [^\n]+: the storage is full\n {2}where: [^\n]+\n {2}hint: Free/m,
    );
    return;
  }
  const host = await lab.start();
  expect(await host.client.invoke(large())).toMatchObject({ status: 507, body: { code: "storage-full" } });
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
}

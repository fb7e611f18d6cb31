import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import type { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { poll } from "../fixtures/poll.ts";
import { delta, event, heldReply, type Part, partsReply, textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

/** The long form: how long each slow sync takes, in milliseconds, as in `HOLDFAST_TEST_SLOW_SYNC_MS=2000`. */
const LONG_SYNC_MS = Number(process.env["HOLDFAST_TEST_SLOW_SYNC_MS"] ?? 0);
const MIB = 1024 * 1024;

/** A disk whose syncs are slow from the moment that it is told so. */
class SlowDisk {
  readonly #armed: string;
  readonly #tally: string;
  readonly env: Record<string, string>;

  /** @param syncMs how long a sync takes */
  constructor(lab: HostLab, syncMs: number) {
    const below = dirname(lab.store);
    mkdirSync(below, { recursive: true });
    this.#armed = lab.folder.at("armed");
    this.#tally = lab.folder.at("tally");
    const fault: Fault = {
      below,
      on: "sync",
      at: 1,
      times: Number.POSITIVE_INFINITY,
      action: { slowMs: Math.max(syncMs, LONG_SYNC_MS) },
      armed: this.#armed,
    };
    this.env = faultEnvironment(fault, this.#tally);
  }

  slowDown(): void {
    writeFileSync(this.#armed, "");
  }

  speedUp(): void {
    rmSync(this.#armed);
  }

  /** Slow syncs that have begun. */
  get syncs(): number {
    if (!existsSync(this.#tally)) return 0;
    return readFileSync(this.#tally, "utf8").split("\n").length - 1;
  }

  /** Resolves when the n-th slow sync has begun. */
  async sync(n: number): Promise<void> {
    await poll(`sync ${n}`, async () => (this.syncs >= n ? true : undefined));
  }
}

/** Largest amount of memory that a process had so far, in bytes. */
function peakMemory({ pid }: HostProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe.skipIf(SHIM === undefined).each(DURABLE_STORES)(
  "a disk whose syncs are slow (needs a C compiler on Linux), sessions in %s",
  (kind) => {
    test("no read waits for a sync, and none sees what is not on the disk", async () => {
      await using lab = await HostLab.on(kind, textReply("Hello."), textReply("Noted."));
      const disk = new SlowDisk(lab, 1_000);
      const host = await lab.start({ env: disk.env });
      await host.client.invoke("Hello?");
      const { nextSeq } = await host.client.read();
      disk.slowDown();
      const invocation = host.client.invoke("Remember the milk.");
      await disk.sync(1);
      const times: number[] = [];
      for (let round = 0; round < 8; round += 1) {
        for (const path of ["/healthz", "/readyz", "/api/v1/sessions/default"]) {
          const begun = performance.now();
          const response = await fetch(`${host.url}${path}`);
          const body = await response.text();
          times.push(performance.now() - begun);
          expect(response.status).toBe(200);
          if (path.endsWith("default")) expect(JSON.parse(body)).toMatchObject({ nextSeq });
        }
      }
      // All of them came back within this one sync: the next one comes after it, and the model is asked still later.
      expect(disk.syncs).toBe(1);
      expect(lab.server.requests).toHaveLength(1);
      if (LONG_SYNC_MS > 0) expect(Math.max(...times)).toBeLessThan(50);
      disk.speedUp();
      expect((await invocation).body).toMatchObject({ turn: 2, message: "Noted." });
    });

    // These side by side: they wait for syncs most of their time.
    test.concurrent("a model that is faster than the disk waits, and memory stays bounded", async () => {
      let sent = 0;
      function* endless(): Generator<Part> {
        const text = event(delta({ content: "x".repeat(64 * 1024) }));
        for (; sent < 1_000 * MIB; sent += text.length) yield text;
      }
      await using lab = await HostLab.on(kind, textReply("Hello."), partsReply(endless()));
      const disk = new SlowDisk(lab, 400);
      const host = await lab.start({ env: disk.env });
      await host.client.invoke("Hello?");
      const before = peakMemory(host);
      const invocation = host.client.invoke("Talk!").catch(() => undefined);
      await poll("the first words", async () => (sent > MIB ? true : undefined));
      disk.slowDown();
      await disk.sync(1);
      const first = sent;
      await disk.sync(3);
      // Two times what the queue takes, and what the sockets hold.
      expect(sent - first).toBeLessThan(40 * MIB);
      expect(peakMemory(host) - before).toBeLessThan(220 * MIB);
      await host.stop("SIGKILL");
      await invocation;
    });

    test.concurrent("a second SIGTERM waits for no sync", async () => {
      await using lab = await HostLab.on(kind, textReply("Hello."), textReply("Noted."), textReply("Back."));
      const disk = new SlowDisk(lab, 20_000);
      const host = await lab.start({ env: disk.env });
      await host.client.invoke("Hello?");
      disk.slowDown();
      const invocation = host.client.invoke("Remember the milk.").catch(() => undefined);
      await disk.sync(1);
      const begun = performance.now();
      host.kill("SIGTERM");
      await host.stderr.waitFor(/Shutting down/);
      expect(await host.stopAtOnce("SIGTERM")).toEqual({ signal: "SIGTERM" });
      expect(performance.now() - begun).toBeLessThan(10_000);
      await invocation;
      disk.speedUp();
      const next = await lab.start();
      expect((await next.client.invoke("Are you there?")).status).toBe(200);
    });

    test.concurrent.each([[["--drain-timeout", "0"]], [[]]])(
      "SIGTERM waits for the commit under way, with %j: it is kept, and the client is told",
      async (args) => {
        await using lab = await HostLab.on(
          kind,
          textReply("Hello."),
          heldReply(forever(), textReply("never")),
        );
        const disk = new SlowDisk(lab, 200);
        const host = await lab.start({ args, env: disk.env });
        await host.client.invoke("Hello?");
        const { nextSeq } = await host.client.read();
        disk.slowDown();
        const invocation = host.client.invoke("Remember the milk.");
        await disk.sync(1);
        const ended = host.stop("SIGTERM");
        const [answer] = await Promise.allSettled([invocation]);
        expect(await ended).toEqual({ code: 143 });
        // Without time to drain, connections are cut once the commit is through.
        if (args.length === 0)
          expect(answer).toMatchObject({ value: { status: 503, body: { code: "closing" } } });

        const next = await lab.start();
        const { events } = await next.client.read();
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, seq) => seq));
        expect(events[nextSeq]).toMatchObject({ type: "turn/start", data: { turn: 2 } });
        expect(events.at(-1)).toMatchObject({ type: "turn/end", data: { turn: 2 } });
      },
    );
  },
);

import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { HostLab } from "../fixtures/host-lab.ts";
import type { HostProcess } from "../fixtures/host-process.ts";
import { poll } from "../fixtures/poll.ts";
import { delta, finish, sseReply } from "../fixtures/provider-server.ts";
import { SseClient } from "../fixtures/sse-client.ts";

setDefaultTimeout(60_000);

const WAVES = 5;
/** Streams of each kind in one wave; what waits must fit into the queue. */
const EACH = 50;
/** What garbage and the system's own buffers may differ by. */
const NOISE = 24 * 1024 * 1024;

function openFiles({ pid }: HostProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function residentBytes({ pid }: HostProcess): number {
  const [, kib = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1024;
}

test.skipIf(process.platform !== "linux")(
  "500 clients that vanish in mid-stream leave no connection and no growth behind, and the Turn goes on",
  async () => {
    const gate = Promise.withResolvers<void>();
    await using lab = await HostLab.create(
      sseReply([delta({ content: "begun" }), gate.promise, delta({ content: ", ended" }), finish("stop")]),
    );
    const host = await lab.start();
    await using stays = await SseClient.invoke(host.url, "stays", "hello");
    await stays.until(({ text }) => text.includes("begun"));
    const idle = openFiles(host);
    let settled = 0;
    for (let wave = 0; wave < WAVES; wave += 1) {
      const ids = Array.from({ length: EACH }, (_, k) => `${wave}-${k}`);
      const clients = await Promise.all([
        ...ids.map((id) => SseClient.invoke(host.url, id, "never")),
        ...ids.map(() => SseClient.follow(host.url)),
      ]);
      expect(openFiles(host)).toBeGreaterThanOrEqual(idle + clients.length);
      for (const client of clients) client.leave();
      // Those that cancel come over a few connections that are kept alive.
      for (const id of ids) expect((await host.client.cancel(id)).status).toBe(202);
      await poll("connections to be closed", async () => (openFiles(host) <= idle + 5 ? true : undefined));
      if (wave === 0) settled = residentBytes(host);
    }
    expect(residentBytes(host)).toBeLessThan(settled + NOISE);
    gate.resolve();
    expect((await stays.rest()).at(-1)).toMatchObject({ event: "done", data: { message: "begun, ended" } });
    expect(host.stderr.text).not.toMatch(/error|warn/i);
  },
);

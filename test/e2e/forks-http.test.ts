import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const forkSchema = z.looseObject({ sessionId: z.string(), boundary: z.number(), nextSeq: z.number() });

describe.each(DURABLE_STORES)("a fork over HTTP, on %s,", (kind) => {
  test("is stored beside its parent, and another Host goes on with it", async () => {
    await using lab = await HostLab.on(kind, textReply("one"), textReply("two"));
    const host = await lab.start();
    await host.client.invoke("first");
    const first = await host.client.read();
    await host.client.invoke("second");
    const response = await fetch(`${host.url}/api/v1/sessions/default/forks`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ boundary: first.nextSeq - 1 }),
    });
    expect(response.status).toBe(201);
    const { sessionId, boundary, nextSeq } = forkSchema.parse(await response.json());
    expect({ boundary, nextSeq }).toEqual({ boundary: first.nextSeq - 1, nextSeq: first.nextSeq + 1 });
    const parent = await host.client.read();
    // As it was acknowledged: the fork is there, whatever happens to this process now.
    await host.stop("SIGKILL");

    lab.server.script(textReply("another two"));
    const next = await lab.start({ args: ["--session-id", sessionId] });
    expect((await next.client.invoke("second, again")).body).toMatchObject({
      turn: 2,
      message: "another two",
    });
    const fork = await next.client.read(sessionId);
    expect(fork.events.slice(0, first.nextSeq)).toEqual(first.events);
    expect(fork.header).toMatchObject({ parentSession: "default", seedLength: first.nextSeq });
    await next.stop("SIGTERM");

    const again = await lab.start();
    expect((await again.client.read()).text).toBe(parent.text);
  });
});

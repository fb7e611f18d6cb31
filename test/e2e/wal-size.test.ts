import { expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { HostLab } from "../fixtures/host-lab.ts";
import { LongReader } from "../fixtures/long-reader.ts";
import { poll } from "../fixtures/poll.ts";
import { textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const MIB = 1024 * 1024;
/** What is promised: docs/durability.md. `bun test/crash/wal-reader.ts` shows it over a minute. */
const PROMISED = 64 * MIB;

test("the write-ahead log of a Host is small again soon after a reader that let it grow has left", async () => {
  const pieces = Array.from({ length: 40 }, () => "x".repeat(MIB));
  await using lab = await HostLab.create(textReply("Hello."), textReply(...pieces));
  const host = await lab.start();
  await host.client.invoke("Hello?");
  await using reader = await LongReader.on(lab.store);
  expect((await host.client.invoke("Talk!")).status).toBe(200);
  const size = () => statSync(`${lab.store}-wal`).size;
  expect(size()).toBeGreaterThan(PROMISED);
  await reader.leave();
  // Nobody writes any more.
  await poll("a small log", async () => (size() < PROMISED ? true : undefined));
  expect((await fetch(`${host.url}/readyz`)).status).toBe(200);
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
});

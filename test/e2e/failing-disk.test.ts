import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findLog } from "../../src/store/jsonl/directory.ts";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { fileStats } from "../fixtures/file-stats.ts";
import type { ReadSession } from "../fixtures/host-client.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import type { HostProcess } from "../fixtures/host-process.ts";
import { always } from "../fixtures/model-replies.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { ReadOnlyMount } from "../fixtures/read-only-mount.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const REPLIES = always(textReply("Noted."));

/** An invocation fails as `storage-failed`; readiness says so, and all that was acknowledged is still served. */
async function expectFailure(host: HostProcess, before: ReadSession): Promise<void> {
  const answer = await host.client.invoke("Remember the milk.");
  expect(answer).toMatchObject({ status: 500, body: { code: "storage-failed" } });
  // No path and no system error leaves through HTTP; they are in the log of the Host.
  expect(JSON.stringify(answer.body)).not.toMatch(/\/|EIO|EACCES|SQLITE/);
  await host.stderr.waitFor(/ERR.*POST .* failed: .*storage-failed/);
  const problem = await expectProblem(await fetch(`${host.url}/readyz`), 503, "storage-failed");
  expect(problem.state).toBe("degraded");
  expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
  expectKept(await host.client.read(), before);
}

function expectKept(session: ReadSession, before: ReadSession): void {
  expect(session.events.map(({ seq }) => seq)).toEqual(session.events.map((_, seq) => seq));
  expect(session.events.slice(0, before.nextSeq)).toEqual(before.events);
}

/** The next invocation works, and what it wrote is there after a restart. */
async function expectWorking(lab: HostLab, host: HostProcess, before: ReadSession): Promise<void> {
  expect((await host.client.invoke("Still there?")).status).toBe(200);
  expect((await fetch(`${host.url}/readyz`)).status).toBe(200);
  const { text } = await host.client.read();
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  const next = await lab.start();
  const session = await next.client.read();
  expect(session.text).toBe(text);
  expectKept(session, before);
}

describe.skipIf(SHIM === undefined).each(DURABLE_STORES)(
  "a disk with faults (needs a C compiler on Linux), sessions in %s",
  (kind) => {
    /** A Host with one Turn on a disk that begins to fail when a file `armed` appears. */
    async function start(lab: HostLab, fault: Pick<Fault, "on" | "action" | "times">) {
      const below = dirname(lab.store);
      mkdirSync(below);
      const armed = lab.folder.at("armed");
      const host = await lab.start({ env: faultEnvironment({ below, at: 1, armed, ...fault }) });
      expect((await host.client.invoke("Hello?")).status).toBe(200);
      const before = await host.client.read();
      writeFileSync(armed, "");
      return { host, before, heal: () => rmSync(armed) };
    }

    test.each(["write", "sync"] as const)(
      "one %s that fails: that invocation fails loudly, and the next one works",
      async (on) => {
        await using lab = await HostLab.on(kind, ...REPLIES);
        const { host, before } = await start(lab, { on, action: "EIO" });
        const answer = await host.client.invoke("Remember the milk.");
        expect(answer).toMatchObject({ status: 500, body: { code: "storage-failed" } });
        expectKept(await host.client.read(), before);
        await expectWorking(lab, host, before);
      },
    );

    test.each([
      ["write", "EIO"],
      ["sync", "EIO"],
      ["write", "EACCES"],
    ] as const)(
      "every %s fails with %s: loud, degraded and readable, and nothing acknowledged is lost",
      async (on, action) => {
        await using lab = await HostLab.on(kind, ...REPLIES);
        const { host, before, heal } = await start(lab, { on, action, times: Number.POSITIVE_INFINITY });
        await expectFailure(host, before);
        await expectFailure(host, before);
        heal();
        // A log whose failed end could be neither kept nor cut off takes nothing more until it is opened again.
        if (kind !== "sqlite" && on === "sync") {
          await expectFailure(host, before);
          expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
          await expectWorking(lab, await lab.start(), before);
        } else await expectWorking(lab, host, before);
      },
    );

    test("a disk that fails when the Host starts: it says so and changes nothing that was acknowledged", async () => {
      await using lab = await HostLab.on(kind, ...REPLIES);
      const first = await lab.start();
      await first.client.invoke("Hello?");
      const before = await first.client.read();
      await first.stop("SIGKILL");
      const fault = { below: dirname(lab.store), at: 1, times: Number.POSITIVE_INFINITY } as const;
      for (const on of ["open", "write", "sync"] as const) {
        const env = faultEnvironment({ ...fault, on, action: "EIO" });
        const message = await lab.start({ env }).then(
          (host) => host.stop("SIGKILL").then(() => "it started"),
          (error: Error) => error.message,
        );
        expect(message).toMatch(
          /it started|^[^\n]+\{"code":1\}\nholdfast: [^\n]+\n {2}where: [^\n]+\n {2}hint: [^\n]+\n/,
        );
      }
      await expectWorking(lab, await lab.start(), before);
    });
  },
);

describe.each(DURABLE_STORES)(
  "files that somebody takes away under a running Host, sessions in %s",
  (kind) => {
    const files = kind === "sqlite" ? ["", "-wal"] : ["log"];
    const fileOf = (lab: HostLab, suffix: string) =>
      kind === "sqlite" ? lab.store + suffix : (findLog(lab.store, "default")?.path ?? "");

    test.each(files.flatMap((file) => [[file, "deleted"] as const, [file, "replaced"] as const]))(
      "%s %s: loud, degraded and readable, and all is there when the file is put back",
      async (suffix, how) => {
        await using lab = await HostLab.on(kind, ...REPLIES);
        const host = await lab.start();
        expect((await host.client.invoke("Hello?")).status).toBe(200);
        const before = await host.client.read();
        const file = fileOf(lab, suffix);
        const aside = lab.folder.at("aside");
        renameSync(file, aside);
        if (how === "replaced") writeFileSync(file, "another file");
        // Known before anybody writes.
        await expectProblem(await fetch(`${host.url}/readyz`), 503, "storage-failed");
        await expectFailure(host, before);
        if (how === "deleted") expect(readdirSync(dirname(file))).not.toContain(basename(file));
        renameSync(aside, file);
        await expectWorking(lab, host, before);
      },
    );
  },
);

describe.skipIf(!ReadOnlyMount.isAllowed).each(DURABLE_STORES)(
  "a file system that is read-only (needs root), sessions in %s",
  (kind) => {
    test("a Host does not start on it, says why, and changes nothing", async () => {
      await using lab = await HostLab.on(kind, ...REPLIES);
      const first = await lab.start();
      await first.client.invoke("Hello?");
      const before = await first.client.read();
      await first.stop("SIGKILL");
      const stats = fileStats(dirname(lab.store));
      {
        using mount = ReadOnlyMount.of(dirname(lab.store));
        const args = ["--session-db", "--session-dir"][kind === "sqlite" ? 0 : 1] ?? "";
        const path = join(mount?.path ?? "", basename(lab.store));
        const message = await lab.start({ args: [args, path] }).then(
          () => "it started",
          (error: Error) => error.message,
        );
        expect(message).toMatch(
          /\{"code":1\}\nholdfast: [^\n]+\n {2}where: [^\n]+\n {2}hint: [^\n]*read-only/,
        );
      }
      expect(fileStats(dirname(lab.store))).toEqual(stats);
      await expectWorking(lab, await lab.start(), before);
    });
  },
);

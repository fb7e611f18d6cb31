/*
 * What a folder is mounted on, from the table that Linux keeps for each process. It tells more than statfs: file systems
 * in user space by their names, and the options of the mount.
 */

/** A line of the table. */
export interface Mount {
  /** As in `ext4`, `nfs4` or `fuse.sshfs`. */
  readonly type: string;
  /** Of the mount and of its file system, as in `rw`, `noatime`, `barrier=0`. */
  readonly options: readonly string[];
}

/** Network file systems by the names that Linux mounts them under; those of statfs have their own table. */
const NETWORK =
  /^(nfs|cifs|smb|afs|coda|ceph|9p$|lustre|glusterfs|beegfs|davfs|vboxsf|prl_fs|vmhgfs|acfs$|gpfs)|^fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|davfs|smbnetfs|curlftpfs|gcsfuse|juicefs|goofys|mountpoint-s3|vmhgfs)/;
/** Options that keep a sync from reaching the disk's medium. */
const NO_BARRIERS = new Set(["nobarrier", "barrier=0"]);

/** The mount that `folder`, a resolved path, lies on. Of several at one place the last one covers the others. */
export function mountOf(folder: string, table: string): Mount | undefined {
  let found: Mount | undefined;
  let length = -1;
  for (const line of table.split("\n")) {
    const [head = "", tail = ""] = line.split(" - ");
    const [, , , , point, options = ""] = head.split(" ");
    const [type, , superOptions = ""] = tail.split(" ");
    if (point === undefined || type === undefined || type === "") continue;
    const path = withoutEscapes(point);
    if (path.length < length || !isBelow(folder, path)) continue;
    length = path.length;
    found = { type, options: [...options.split(","), ...superOptions.split(",")] };
  }
  return found;
}

export function isNetworkMount({ type }: Mount): boolean {
  return NETWORK.test(type);
}

/** Whether its files are gone with the machine's power. */
export function isMemoryMount({ type }: Mount): boolean {
  return type === "tmpfs" || type === "ramfs";
}

export function isReadOnlyMount({ options }: Mount): boolean {
  return options.includes("ro");
}

/** The option that makes syncs weaker than they say, if there is one. */
export function weakSyncOption({ options }: Mount): string | undefined {
  return options.find((option) => NO_BARRIERS.has(option));
}

function isBelow(folder: string, point: string): boolean {
  return point === "/" || folder === point || folder.startsWith(`${point}/`);
}

/** Blanks and the like stand as three octal digits. */
function withoutEscapes(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

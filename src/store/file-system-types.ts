/** File system types, as statfs reports them, on which SQLite's shared memory does not work between machines. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9P"],
  [0x0bd00bd0, "Lustre"],
]);

/** The network file system that a type of statfs stands for; nothing for a local one. */
export function networkFileSystem(type: number | bigint): string | undefined {
  // Some systems report it as a negative number.
  return NETWORK.get(Number(type) >>> 0);
}

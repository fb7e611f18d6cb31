/*
 * SQLite's write-ahead log, by its documentation: a header of 32 bytes, then frames of 24 bytes and a page each, all of
 * them in one chain of checksums.
 */

export const WAL_HEADER = 32;
export const WAL_FRAME = 24;

/** Bytes of one frame with its page; 0 of a log that has no header. */
export function frameSize(wal: Buffer): number {
  if (wal.length < WAL_HEADER) return 0;
  const page = wal.readUInt32BE(8);
  return page >= 512 && page <= 65_536 ? page + WAL_FRAME : 0;
}

export function frameCount(wal: Buffer): number {
  const size = frameSize(wal);
  return size === 0 ? 0 : Math.floor((wal.length - WAL_HEADER) / size);
}

/** A copy with its checksums made to fit, and with these salts in all frames where some are given. */
export function sealed(wal: Buffer, salts?: readonly [number, number]): Buffer {
  const copy = Buffer.from(wal);
  const size = frameSize(copy);
  if (size === 0) return copy;
  const big = (copy.readUInt32BE(0) & 1) === 1;
  if (salts !== undefined) writePair(copy, 16, salts);
  let sums = checksum(copy.subarray(0, 24), [0, 0], big);
  writePair(copy, 24, sums);
  for (let k = 0; k < frameCount(copy); k += 1) {
    const at = WAL_HEADER + k * size;
    if (salts !== undefined) writePair(copy, at + 8, salts);
    sums = checksum(copy.subarray(at, at + 8), sums, big);
    sums = checksum(copy.subarray(at + WAL_FRAME, at + size), sums, big);
    writePair(copy, at + 16, sums);
  }
  return copy;
}

function writePair(bytes: Buffer, at: number, [first, second]: readonly [number, number]): void {
  bytes.writeUInt32BE(first, at);
  bytes.writeUInt32BE(second, at + 4);
}

function checksum(bytes: Buffer, [a, b]: readonly [number, number], big: boolean): [number, number] {
  let first = a;
  let second = b;
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const one = big ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
    const two = big ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
    first = (first + one + second) >>> 0;
    second = (second + two + first) >>> 0;
  }
  return [first, second];
}

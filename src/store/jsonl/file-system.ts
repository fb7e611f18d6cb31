import { fdatasyncSync, fsyncSync, ftruncateSync, writeSync } from "node:fs";
import { StorageFailedError } from "../errors.ts";

/** The file operations that durability rests on; a parameter, so that each can be made to fail. */
export interface FileSystem {
  /** Writes at the end; returns how many bytes were taken. */
  readonly write: (file: number, bytes: Uint8Array) => number;
  readonly fdatasync: (file: number) => void;
  readonly fsync: (file: number) => void;
  readonly truncate: (file: number, size: number) => void;
}

export const SYSTEM: FileSystem = {
  write: (file, bytes) => writeSync(file, bytes),
  fdatasync: fdatasyncSync,
  fsync: fsyncSync,
  truncate: ftruncateSync,
};

/** Writes all bytes. A nearly full disk takes a part of them, and says so only by the count. */
export function writeAll(system: FileSystem, file: number, bytes: Uint8Array, path: string): void {
  for (let done = 0; done < bytes.length; ) {
    const count = system.write(file, done === 0 ? bytes : bytes.subarray(done));
    if (count <= 0) throw new StorageFailedError("The disk took no more bytes", { place: { path } });
    done += count;
  }
}

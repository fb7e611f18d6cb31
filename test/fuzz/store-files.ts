import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { StoreName } from "../../src/store/store-name.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { DATABASE, type Files, LOGS } from "./types.ts";

/** In memory where there is such a place: it is not about the disk. */
const MEMORY = "/dev/shm";
/** Nobody has written to the files for long, so that nobody waits for somebody who is writing. */
const LONG_AGO = new Date("2026-01-01T00:00:00Z");

/** A variable that names the folder of a run: what a child leaves that is killed goes with it. */
export const FOLDER_VARIABLE = "HOLDFAST_FUZZ_FOLDER";

export function newFolder(name: string): string {
  const run = process.env[FOLDER_VARIABLE];
  if (run !== undefined) return mkdtempSync(join(run, `${name}-`));
  return mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), `holdfast-fuzz-${name}-`));
}

/** The store that lies in a folder. */
export function storeIn(folder: string, kind: StoreKind): StoreName {
  return kind === "sqlite"
    ? { kind: "sqlite", path: join(folder, DATABASE) }
    : { kind: "jsonl", path: join(folder, LOGS) };
}

export function writeFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes, { mode: 0o600 });
    utimesSync(path, LONG_AGO, LONG_AGO);
  }
}

export function readFiles(folder: string): Files {
  const files: Files = new Map();
  for (const path of filesBelow(folder)) files.set(path.slice(folder.length + 1), readFileSync(path));
  return files;
}

/** Every file below a folder with a hash of its bytes and the time of its last change. */
export function stateOf(folder: string): ReadonlyMap<string, string> {
  return new Map(
    filesBelow(folder).map((path) => {
      const hash = Bun.hash(readFileSync(path)).toString(16);
      return [path.slice(folder.length + 1), `${hash} ${statSync(path).mtimeMs}`];
    }),
  );
}

/** What is different between two states, for people. */
export function differences(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
}

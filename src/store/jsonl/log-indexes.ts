import { readHead } from "./head.ts";
import { isSameFile, type LogFile, type LogLocation } from "./log-file.ts";
import { LogIndex } from "./log-index.ts";
import { lookNear } from "./probe.ts";
import { readSidecar, writeSidecar } from "./sidecar.ts";

/** Indexes kept in memory. */
const MAX_INDEXES = 256;
/** Smaller logs are read whole in no time. */
const LEAST_INDEXED = 256 * 1024;

/** What is known of the logs of a root: indexes in memory, by session id, and those beside the logs. */
export class LogIndexes {
  readonly #indexes = new Map<string, LogIndex>();

  /** The one in memory; it may be of another log than lies there now. */
  get(id: string): LogIndex | undefined {
    return this.#indexes.get(id);
  }

  /** What is known of the log, and a place near the event where that is little and the log is long. */
  near(id: string, location: LogLocation, file: LogFile, seq: number): LogIndex | undefined {
    const known = this.#fitting(id, location, file);
    if (seq <= 0 || (known === undefined && file.size < LEAST_INDEXED)) return known;
    const index = known ?? new LogIndex(file.identity, readHead(file).bodyOffset);
    lookNear(file, index, seq);
    return known ?? (index.isGuessed ? index : undefined);
  }

  keep(id: string, index: LogIndex): void {
    this.#indexes.delete(id);
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size < MAX_INDEXES) break;
      this.#indexes.delete(oldest);
    }
    this.#indexes.set(id, index);
  }

  forget(id: string): void {
    this.#indexes.delete(id);
  }

  /** Writes those of long logs beside them. */
  save(pathOf: (id: string) => string | undefined): void {
    for (const [id, index] of this.#indexes) {
      const path = pathOf(id);
      if (path !== undefined && index.end >= LEAST_INDEXED) writeSidecar(path, index);
    }
  }

  #fitting(id: string, { path }: LogLocation, { identity, size }: LogFile): LogIndex | undefined {
    const known = this.#indexes.get(id) ?? readSidecar(path, identity, size);
    const fits = known !== undefined && isSameFile(known.identity, identity) && known.end <= size;
    return fits ? known : undefined;
  }
}

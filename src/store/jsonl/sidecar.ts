import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { INDEX_SUFFIX } from "./layout.ts";
import type { FileIdentity } from "./log-file.ts";
import { LogIndex } from "./log-index.ts";

/*
 * An index may be kept in a file beside its log, so that a later process finds the end of a long log without reading
 * all of it. Such a file can be deleted at any time, and says nothing that is not checked against the log.
 */

const sidecarSchema = z.object({
  version: z.literal(1),
  ino: z.number(),
  offsets: z.array(z.number().int().nonnegative()),
  seqs: z.array(z.number().int().nonnegative()),
});

/** The index beside a log of this identity and size; nothing where there is none that fits. */
export function readSidecar(logPath: string, identity: FileIdentity, size: number): LogIndex | undefined {
  try {
    const path = logPath + INDEX_SUFFIX;
    // A pipe would be waited for.
    if (!statSync(path).isFile()) return undefined;
    const sidecar = sidecarSchema.parse(JSON.parse(readFileSync(path, "utf8")));
    if (sidecar.ino !== identity.ino || sidecar.offsets.length !== sidecar.seqs.length) return undefined;
    const points = sidecar.offsets.map((offset, k) => ({ offset, seq: sidecar.seqs[k] ?? 0 }));
    // A point is only good for something where a unit begins.
    if ((points.at(-1)?.offset ?? 0) >= size) return undefined;
    return LogIndex.from(identity, points);
  } catch {
    return undefined; // absent, or of no use
  }
}

/** Keeps an index beside its log. Without it the next process only takes longer, so that failing is no error. */
export function writeSidecar(logPath: string, index: LogIndex): void {
  const path = logPath + INDEX_SUFFIX;
  const draft = `${path}.tmp`;
  const { identity, points } = index;
  const offsets = points.map(({ offset }) => offset);
  const seqs = points.map(({ seq }) => seq);
  try {
    writeFileSync(draft, JSON.stringify({ version: 1, ino: identity.ino, offsets, seqs }), {
      mode: 0o600,
    });
    renameSync(draft, path);
  } catch {
    try {
      rmSync(draft, { force: true });
    } catch {
      // Something else lies there.
    }
  }
}

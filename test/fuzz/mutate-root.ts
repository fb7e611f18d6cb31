import { basename, dirname, join } from "node:path";
import type { Random } from "../../bench/random.ts";
import type { LogSeed } from "./corpus.ts";
import { noise } from "./mutate-bytes.ts";
import { type Files, LOGS } from "./types.ts";

/* What is done to the names in a root of logs, and to what lies beside a log. */

export interface RootMutated {
  readonly step: string;
  /** Logs that are not what they were. */
  readonly touched: readonly LogSeed[];
}

type RootMutation = (files: Files, random: Random, log: LogSeed) => string;

function move(files: Files, from: string, to: string): void {
  const bytes = files.get(from);
  files.delete(from);
  if (bytes !== undefined) files.set(to, bytes);
}

const MUTATIONS: readonly RootMutation[] = [
  (files, _, { path }) => {
    files.set(
      join(LOGS, "--other--", basename(dirname(path)), basename(path)),
      files.get(join(LOGS, path)) ?? Buffer.alloc(0),
    );
    return "the log in a second folder as well";
  },
  (files, _, { path }) => {
    move(files, join(LOGS, path), join(LOGS, dirname(dirname(path)), `other-id`, basename(path)));
    return "the log under another id";
  },
  (files, _, { path }) => {
    move(
      files,
      join(LOGS, path),
      join(
        LOGS,
        dirname(dirname(path)),
        `${basename(dirname(path))}${basename(path).slice("session".length)}`,
      ),
    );
    return "the log in its project's folder";
  },
  (files, _, { path }) => {
    const other = path.endsWith(".zstd") ? path.slice(0, -".zstd".length) : `${path}.zstd`;
    move(files, join(LOGS, path), join(LOGS, other));
    return "the log under the name of the other encoding";
  },
  (files, random, { path }) => {
    const name = random.pick([
      "session.v3.jsonl.zstd",
      "session.jsonl.torn-5",
      ".holdfast-draft-0a",
      "session.jsonl",
      "session.jsonl.zstd",
      "x",
    ]);
    const at = join(LOGS, dirname(path), name);
    if (!files.has(at)) files.set(at, noise(random, random.pick([0, 40])));
    return `a file ${name} beside the log`;
  },
  (files, random, { path }) => {
    const text = random.pick([
      "",
      "{}",
      '{"version":1,"ino":1,"offsets":[0],"seqs":[0]}',
      '{"version":1,"ino":1e999}',
      "[".repeat(9_999),
    ]);
    files.set(join(LOGS, `${path}.holdfast-index`), Buffer.from(text));
    return "garbage for the index beside the log";
  },
  (files, random) => {
    files.set(
      join(LOGS, random.pick(["file", "--p--/file", "~ZZ/x/session.jsonl", "--p--/~00/session.jsonl"])),
      noise(random, 10),
    );
    return "a file that is no log";
  },
];

export function mutateRoot(files: Files, random: Random, logs: readonly LogSeed[]): RootMutated {
  const log = random.pick(logs);
  return { step: `${log.path}: ${random.pick(MUTATIONS)(files, random, log)}`, touched: [log] };
}

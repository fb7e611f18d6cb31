import { join } from "node:path";
import { compacted } from "./compacted.ts";
import { http } from "./http.ts";
import { logs } from "./logs.ts";
import { BenchFolder, type Figure, format, median, runCase } from "./measure.ts";
import { sessionsParts } from "./sessions.ts";
import { measureStartup } from "./startup.ts";
import { stream } from "./stream.ts";
import { verify, verifyLarge } from "./verify.ts";

/*
 * Prints each figure beside its floor, measured in the same run on the same machine. `bun run bench [PART…]` runs the
 * parts named: commits, bulk, cold, startup, logs, compacted, verify, stream, http. These take minutes, and run only when
 * they are named: verify-large, sessions-many, sessions-million, sessions-large. It asserts nothing: a slow machine is not a
 * defect.
 */

const RUNS = 7;
const executable = process.env["HOLDFAST_EXECUTABLE"] ?? join(import.meta.dir, "..", "dist", "holdfast");

type Part = () => Promise<Figure[]> | AsyncIterable<Figure>;
const PARTS: Readonly<Record<string, Part>> = {
  commits,
  bulk,
  cold,
  startup,
  logs,
  compacted,
  verify,
  stream: () => stream(executable),
  http: () => http(executable),
};
const ALL_PARTS: Readonly<Record<string, Part>> = {
  ...PARTS,
  "verify-large": verifyLarge,
  ...sessionsParts(executable),
};
const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) {
  const part = ALL_PARTS[name];
  if (part === undefined)
    throw new Error(`unknown part ${name}; there are ${Object.keys(ALL_PARTS).join(", ")}`);
  for await (const { what, value, against, target, met } of await part()) {
    process.stdout.write(`${met ? "ok  " : "MISS"} ${what}: ${value} (${against}; target ${target})\n`);
  }
}

interface Commits {
  readonly floor: number;
  readonly pageFloor: number;
  readonly one: number;
  readonly many: number;
  readonly oneRatio: number;
  readonly onePageRatio: number;
  readonly manyRatio: number;
  readonly threadRatio: number;
  readonly bareOneRatio: number;
  readonly bareManyRatio: number;
  readonly http: { readonly requests: number; readonly p50: number; readonly p99: number };
}

async function commits(): Promise<Figure[]> {
  const {
    floor,
    pageFloor,
    one,
    many,
    oneRatio,
    onePageRatio,
    manyRatio,
    threadRatio,
    bareOneRatio,
    bareManyRatio,
    http,
  } = await runCase<Commits>("commits");
  const floors = `write + fdatasync ${format(floor)}/s of the event, ${format(pageFloor)}/s of a 4 KiB page`;
  return [
    {
      what: "one-event commits, one session",
      value: `${format(one)}/s = ${format(oneRatio, 2)} of the floor (${format(onePageRatio, 2)} of the page floor)`,
      against: `${floors}; SQLite alone ${format(bareOneRatio, 2)} of it, the loop on another thread ${format(threadRatio, 2)}`,
      target: "at least 0.8",
      met: oneRatio >= 0.8,
    },
    {
      what: "64 sessions at once",
      value: `${format(many)}/s = ${format(manyRatio, 1)} times the floor`,
      against: `${floors}; SQLite alone, a row for each of them a commit, ${format(bareManyRatio, 1)} times it`,
      target: "at least 8",
      met: manyRatio >= 8,
    },
    {
      what: "HTTP reads meanwhile",
      value: `p50 ${format(http.p50, 1)} ms, p99 ${format(http.p99, 1)} ms`,
      against: `${format(http.requests)} requests`,
      target: "p99 at most 10 ms",
      met: http.p99 <= 10,
    },
  ];
}

async function bulk(): Promise<Figure[]> {
  const { rate } = await runCase<{ rate: number }>("bulk");
  const { growth, peakGrowth } = await runCase<{ growth: number; peakGrowth: number }>("growth");
  return [
    {
      what: "bulk append, 1,000 events a batch",
      value: `${format(rate)} events/s`,
      against: "200,000 generated events after as many for warming up, two batches in flight",
      target: "at least 400,000",
      met: rate >= 400_000,
    },
    {
      what: "resident memory after appending 200,000 events",
      value: `+${format(growth)} MB (at most +${format(peakGrowth)} MB meanwhile)`,
      against: "after a warm-up of 20,000",
      target: "at most +60 MB",
      met: growth <= 60,
    },
  ];
}

async function cold(): Promise<Figure[]> {
  using folder = new BenchFolder();
  const path = folder.file("store.db");
  const { id, events, bytes } = await runCase<{ id: string; events: number; bytes: number }>(
    "write-session",
    [path],
  );
  const floors: number[] = [];
  const opens: Array<{ open: number; resident: number; last: number; lastAgain: number }> = [];
  for (let run = 0; run < RUNS; run += 1) {
    floors.push((await runCase<{ floor: number }>("cold-floor", [path])).floor);
    opens.push(await runCase("cold-open", [path, id]));
  }
  const floor = median(floors);
  const open = median(opens.map((sample) => sample.open));
  const ratio = median(opens.map((sample, run) => sample.open / (floors[run] ?? floor)));
  const resident = median(opens.map((sample) => sample.resident));
  const last = median(opens.map((sample) => sample.last));
  const again = median(opens.map((sample) => sample.lastAgain));
  return [
    {
      what: `cold open of ${format(events)} events`,
      value: `${format(open)} ms = ${format(ratio, 2)} times the floor`,
      against: `read the rows + JSON.parse ${format(floor)} ms`,
      target: "at most 1.5",
      met: ratio <= 1.5,
    },
    {
      what: "resident memory after it",
      value: `${format(resident)} MB`,
      against: "the whole process",
      target: "at most 110 MB",
      met: resident <= 110,
    },
    {
      what: "its last 10 events",
      value: `${format(last, 2)} ms the first time, ${format(again, 2)} ms after`,
      against: "through readFrom",
      target: "at most 2 ms",
      met: last <= 2,
    },
    {
      what: "bytes an event on disk",
      value: format(bytes / events, 1),
      against: `${format(bytes)} bytes`,
      target: "at most 42",
      met: bytes / events <= 42,
    },
  ];
}

async function startup(): Promise<Figure[]> {
  const { bareAnswer, help, answer, idleMb } = await measureStartup(executable);
  const against = `bare compiled Bun.serve ${format(bareAnswer, 1)} ms to its first answer`;
  return [
    {
      what: "--help",
      value: `${format(help, 1)} ms = ${format(help / bareAnswer, 2)} times`,
      against,
      target: "at most 1.5",
      met: help / bareAnswer <= 1.5,
    },
    {
      what: "first HTTP answer",
      value: `${format(answer, 1)} ms = ${format(answer / bareAnswer, 2)} times`,
      against,
      target: "at most 2.5",
      met: answer / bareAnswer <= 2.5,
    },
    {
      what: "idle memory",
      value: `${format(idleMb)} MB`,
      against: "resident, the whole process",
      target: "at most 60 MB",
      met: idleMb <= 60,
    },
  ];
}

import { BenchFolder, type Figure, format, median, runCase } from "./measure.ts";
import { readSample } from "./sample.ts";

/* Session logs: the long sample session where it is there, commits, many sessions, and logs of unusual size. */

const RUNS = 9;
export async function logs(): Promise<Figure[]> {
  using folder = new BenchFolder();
  return [
    ...(await sample(folder)),
    ...(await commits()),
    ...(await listing(folder)),
    ...(await million(folder)),
    ...(await large(folder)),
  ];
}

async function sample(folder: BenchFolder): Promise<Figure[]> {
  const session = await readSample();
  if (session === undefined) return [];
  const { id, path, events } = session;
  const root = folder.file("again");
  const { original, written } = await runCase<{ original: number; written: number }>("jsonl-rewrite", [
    path,
    root,
  ]);
  type Open = { open: number; tail: number; again: number; resident: number };
  const floors: number[] = [];
  const opens: Open[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    floors.push((await runCase<{ floor: number }>("jsonl-cold-floor", [path])).floor);
    opens.push(await runCase<Open>("jsonl-cold-open", ["open", root, id]));
  }
  const ratio = median(opens.map(({ open }, run) => open / (floors[run] ?? Number.NaN)));
  const resident = median(opens.map((open) => open.resident));
  const tail = median(opens.map((open) => open.tail));
  const again = median(opens.map((open) => open.again));
  const sidecar = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { tail: ms } = await runCase<{ tail: number }>("jsonl-cold-open", [
      "tail",
      root,
      id,
      String(events),
    ]);
    sidecar.push(ms);
  }
  return [
    {
      what: `log: cold open of ${format(events)} events`,
      value: `${format(median(opens.map(({ open }) => open)))} ms = ${format(ratio, 2)} times the floor`,
      against: `decompress + decode + JSON.parse ${format(median(floors))} ms, ${format(original)} bytes`,
      target: "at most 1.3",
      met: ratio <= 1.3,
    },
    {
      what: "log: resident memory after it",
      value: `${format(resident)} MB`,
      against: "the whole process",
      target: "at most 110 MB",
      met: resident <= 110,
    },
    {
      what: "log: its last 10 events",
      value: `${format(tail, 2)} ms once opened, ${format(again, 2)} ms after; ${format(median(sidecar), 2)} ms first thing in a process, by the index beside it`,
      against: "through readFrom",
      target: "at most 5 ms",
      met: tail <= 5,
    },
    {
      what: "log: bytes, written again in the same batches",
      value: format(written),
      against: `${format(original)} bytes as dsh wrote them`,
      target: "no more",
      met: written <= original,
    },
  ];
}

async function commits(): Promise<Figure[]> {
  type Commits = { floor: number; one: number; ratio: number; threadRatio: number };
  const { floor, one, ratio, threadRatio } = await runCase<Commits>("jsonl-commits");
  const { rate } = await runCase<{ rate: number }>("bulk", ["jsonl"]);
  return [
    {
      what: "log: one-event commits",
      value: `${format(one)}/s = ${format(ratio, 2)} of the floor`,
      against: `write + fdatasync ${format(floor)}/s of the event; the loop on another thread ${format(threadRatio, 2)} of it`,
      target: "at least 0.8",
      met: ratio >= 0.8,
    },
    {
      what: "log: bulk append, 1,000 events a batch",
      value: `${format(rate)} events/s`,
      against: "200,000 generated events after as many for warming up, two batches in flight",
      target: "at least 400,000",
      met: rate >= 400_000,
    },
  ];
}

async function listing(folder: BenchFolder): Promise<Figure[]> {
  const root = folder.file("many");
  await runCase("jsonl-list", ["fill", root]);
  type List = { first: number; all: number; items: number };
  const lists: List[] = [];
  for (let run = 0; run < RUNS; run += 1) lists.push(await runCase<List>("jsonl-list", ["list", root]));
  const first = median(lists.map((list) => list.first));
  const all = median(lists.map((list) => list.all));
  return [
    {
      what: `log: list of ${format(lists[0]?.items ?? 0)} sessions`,
      value: `${format(all)} ms for all, ${format(first)} ms for the first 100`,
      against: "a new process; the files are in the system's cache",
      target: "at most 1,000 and 100 ms",
      met: all <= 1_000 && first <= 100,
    },
  ];
}

async function million(folder: BenchFolder): Promise<Figure[]> {
  const { p50, worst, bytes } = await runCase<{ p50: number; worst: number; bytes: number }>(
    "jsonl-million",
    [folder.file("million")],
  );
  return [
    {
      what: "log: any 100 of 1,000,000 events, once opened",
      value: `p50 ${format(p50, 1)} ms, worst ${format(worst, 1)} ms`,
      against: `${format(bytes)} bytes, 200 reads`,
      target: "at most 10 ms",
      met: worst <= 10,
    },
  ];
}

async function large(folder: BenchFolder): Promise<Figure[]> {
  const root = folder.file("large");
  const { bytes } = await runCase<{ bytes: number }>("jsonl-big", ["fill", root]);
  type Peak = { peak: number; ms: number };
  const page = await runCase<Peak>("jsonl-big", ["page", root]);
  const open = await runCase<Peak>("jsonl-big", ["open", root]);
  const copy = await runCase<Peak>("jsonl-big", ["copy", root, folder.file("copy.db")]);
  const peak = Math.max(page.peak, open.peak, copy.peak);
  return [
    {
      what: `log: ${format(bytes / 1_000_000)} MB`,
      value: `peak ${format(open.peak)} MB opened and gone through, ${format(page.peak)} MB for 50 pages, ${format(copy.peak)} MB copied to SQLite in ${format(copy.ms / 1000, 1)} s`,
      against: "resident, the whole process",
      target: "bounded: at most 400 MB, whatever the size of the log",
      met: peak <= 400,
    },
  ];
}

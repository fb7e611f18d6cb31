import { BenchFolder, type Figure, format, median, runCase } from "./measure.ts";
import { readSample } from "./sample.ts";

/* What compaction does to the long session, and to the time that opening it takes: beside a copy that was not compacted. */

const RUNS = 9;

interface Kind {
  readonly name: string;
  readonly stores: readonly [string, string];
  readonly id: string;
  readonly fill: (store: string) => Promise<unknown>;
  readonly open: (store: string) => Promise<{ readonly open: number }>;
}

export async function compacted(): Promise<Figure[]> {
  using folder = new BenchFolder();
  const kinds = [database(folder), await logs(folder)].filter((kind) => kind !== undefined);
  const figures: Figure[] = [];
  for (const kind of kinds) figures.push(...(await measure(kind)));
  return figures;
}

function database(folder: BenchFolder): Kind {
  return {
    name: "database",
    stores: [folder.file("plain.db"), folder.file("compacted.db")],
    id: "workload-1",
    fill: (store) => runCase("write-session", [store]),
    open: (store) => runCase("cold-open", [store, "workload-1"]),
  };
}

/** Of the sample, where it is there. */
async function logs(folder: BenchFolder): Promise<Kind | undefined> {
  const sample = await readSample();
  if (sample === undefined) return undefined;
  return {
    name: "log",
    stores: [folder.file("plain"), folder.file("compacted")],
    id: sample.id,
    fill: (store) => runCase("jsonl-rewrite", [sample.path, store]),
    open: (store) => runCase("jsonl-cold-open", ["open", store, sample.id]),
  };
}

async function measure({ name, stores, id, fill, open }: Kind): Promise<Figure[]> {
  const [plain, small] = stores;
  for (const store of stores) await fill(store);
  const { before, after } = await runCase<{ before: number; after: number }>("compact-store", [small, id]);
  const opens: Array<{ readonly plain: number; readonly small: number }> = [];
  for (let run = 0; run < RUNS; run += 1) {
    opens.push({ plain: (await open(plain)).open, small: (await open(small)).open });
  }
  const [was, is] = [median(opens.map((each) => each.plain)), median(opens.map((each) => each.small))];
  const most = name === "log" ? 560_000 : 700_000;
  return [
    {
      what: `${name}: compacted`,
      value: `${format(after)} bytes`,
      against: `${format(before)} bytes before`,
      target: `at most ${format(most)}`,
      met: after <= most,
    },
    {
      what: `${name}: cold open of it`,
      value: `${format(is)} ms`,
      against: `${format(was)} ms before`,
      target: "no slower",
      met: is <= was,
    },
  ];
}

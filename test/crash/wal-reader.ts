import { statSync } from "node:fs";
import { parseArgs } from "node:util";
import { HostLab } from "../fixtures/host-lab.ts";
import { LongReader } from "../fixtures/long-reader.ts";
import {
  delta,
  event,
  finish,
  type Part,
  partsReply,
  textReply,
  usage,
} from "../fixtures/provider-server.ts";

/*
 * How the write-ahead log behaves while another process reads for long, on the executable:
 *
 *   bun test/crash/wal-reader.ts [--seconds 60] [--rate 0.5] [--after quiet|writes]
 *
 * A model speaks without a pause, `--rate` MiB a second, for as long as the reader stays. Then nobody writes any more,
 * or small Turns go on. Prints the size of the log over time; ends with 1 unless it is below 64 MiB within 30 s.
 */

const MIB = 1024 * 1024;
const BOUND = 64 * MIB;
const DEADLINE_MS = 30_000;
const PIECE = 64 * 1024;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    rate: { type: "string", default: "0.5" },
    after: { type: "string", default: "quiet" },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);
process.exitCode = await run();

/** Speaks for so long; an answer may have 64 MiB. */
function* speech(): Generator<Part> {
  const begun = performance.now();
  const piece = event(delta({ content: "x".repeat(PIECE) }));
  for (let sent = 0; performance.now() - begun < seconds * 1_000; sent += PIECE) {
    const due = begun + (sent / MIB / rate) * 1_000;
    yield Bun.sleep(Math.max(0, due - performance.now()));
    yield piece;
  }
  yield* [event(finish("stop")), event(usage(10, 10)), "data: [DONE]\n\n"];
}

async function run(): Promise<number> {
  await using lab = await HostLab.create(textReply("Hello."), partsReply(speech()));
  const host = await lab.start();
  await host.client.invoke("Hello?");
  const size = () => statSync(`${lab.store}-wal`).size;
  const begun = performance.now();
  const report = (what: string) => {
    const time = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stdout.write(`${time.padStart(6)} s  ${(size() / MIB).toFixed(1).padStart(7)} MiB  ${what}\n`);
  };
  await using reader = await LongReader.on(lab.store);
  report("the reader begins");
  const turn = host.client.invoke("Talk!");
  const timer = setInterval(() => report("the reader stays"), Math.max(1, seconds / 12) * 1_000);
  const { status } = await turn;
  clearInterval(timer);
  if (status !== 200) throw new Error(`The Turn ended with ${status}`);
  const largest = size();
  report("the reader leaves");
  await reader.leave();
  const left = performance.now();
  let last = 0;
  while (size() >= BOUND && performance.now() - left < DEADLINE_MS) {
    if (values.after === "writes") {
      lab.server.script(textReply("Yes."));
      await host.client.invoke("Are you there?");
    } else await Bun.sleep(100);
    if (performance.now() - last < 1_000) continue;
    last = performance.now();
    report("the reader has left");
  }
  report(`below 64 MiB after ${((performance.now() - left) / 1_000).toFixed(1)} s`);
  if (largest < BOUND)
    process.stdout.write("The log never grew beyond 64 MiB: more seconds, or a higher rate.\n");
  return size() < BOUND && largest >= BOUND ? 0 : 1;
}

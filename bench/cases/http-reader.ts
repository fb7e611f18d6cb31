import { percentile } from "../measure.ts";

/* Reads a session over HTTP, one request after the other, until stdin closes; prints the latencies. */

const url = `${process.argv[2]}/api/v1/sessions/default`;
const latencies: number[] = [];
let stopped = false;
process.stdin.on("end", () => {
  stopped = true;
});
process.stdin.resume();
while (!stopped) {
  const start = performance.now();
  await (await fetch(url)).arrayBuffer();
  latencies.push(performance.now() - start);
  // A client that reads as fast as it can would measure itself.
  await Bun.sleep(2);
}
process.stdout.write(
  JSON.stringify({
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  }),
);

import { percentile } from "../measure.ts";
import { requestRate, timeGet } from "../raw-http.ts";

/*
 * A client in a process of its own. `rate PORT PATH` prints requests a second over 32 connections; `read PORT PATH COUNT`
 * prints how long that many requests at once took; `poll PORT PATH` asks until stdin ends, and prints the latencies.
 */

const CONNECTIONS = 32;
const FOR_MS = 1_000;

const [mode = "", portText = "", path = "", count = "1"] = process.argv.slice(2);
const port = Number(portText);
if (mode === "rate") print(await requestRate(port, path, CONNECTIONS, FOR_MS));
else if (mode === "read") {
  const start = performance.now();
  const reads = await Promise.all(Array.from({ length: Number(count) }, () => timeGet(port, path)));
  print({ ms: performance.now() - start, bytes: reads[0]?.bytes });
} else {
  const latencies: number[] = [];
  let isOpen = true;
  process.stdin.on("end", () => {
    isOpen = false;
  });
  process.stdin.resume();
  while (isOpen) {
    const start = performance.now();
    await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer();
    latencies.push(performance.now() - start);
    await Bun.sleep(1);
  }
  print({ requests: latencies.length, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });
}

function print(result: unknown): void {
  process.stdout.write(JSON.stringify(result));
}

import { join } from "node:path";
import { createParser } from "eventsource-parser";
import { z } from "zod";
import { BenchFolder, type Figure, format, median, percentile, runCase } from "./measure.ts";
import { Server } from "./server.ts";

/*
 * A streamed Turn through the executable: how much later than the provider sent it a delta reaches the client, against a
 * client that listens to the provider itself. The clocks are those of one machine.
 */

const DELTAS = 5_000;
const RATE = 1_000;
const RUNS = 3;

const provisionalSchema = z.object({ data: z.object({ chunk: z.object({ text: z.string().optional() }) }) });
const chunkSchema = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().optional() }) })),
});

interface Delays {
  readonly p50: number;
  readonly p99: number;
}

export async function stream(executable: string): Promise<Figure[]> {
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) runs.push(await measure(executable));
  const direct50 = median(runs.map(({ direct }) => direct.p50));
  const direct99 = median(runs.map(({ direct }) => direct.p99));
  const added50 = median(runs.map(({ through, direct }) => through.p50 - direct.p50));
  const added99 = median(runs.map(({ through, direct }) => through.p99 - direct.p99));
  const cpu = median(runs.map(({ cpuMicroseconds }) => cpuMicroseconds));
  const many = await runCase<Delays & { readonly sessions: number; readonly deltas: number }>("many-streams");
  const sizes = await runCase<Readonly<Record<"sqlite" | "zstd" | "none", number>>>("answer-size");
  return [
    {
      what: `a streamed Turn of ${format(DELTAS)} deltas`,
      value: `the Host adds ${format(added50, 2)} ms at p50, ${format(added99, 2)} ms at p99`,
      against: `the provider itself: p50 ${format(direct50, 2)} ms, p99 ${format(direct99, 2)} ms; ${format(RATE)} deltas/s; ${format(cpu)} µs of CPU a delta`,
      target: "at most 5 ms and 20 ms",
      met: added50 <= 5 && added99 <= 20,
    },
    {
      what: `${many.sessions} sessions streaming at once through the library`,
      value: `p50 ${format(many.p50, 2)} ms, p99 ${format(many.p99, 2)} ms`,
      against: `${format(many.deltas)} deltas/s in all`,
      target: "p99 at most 50 ms",
      met: many.p99 <= 50,
    },
    ...(["sqlite", "zstd"] as const).map((kind) => ({
      what: `the log of a 1 MB answer, ${kind}`,
      value: `${format(sizes[kind] / 1e6, 2)} MB`,
      against: `${format(DELTAS)} deltas of words; plain lines take ${format(sizes.none / 1e6, 2)} MB`,
      target: "at most 1.3 MB",
      met: sizes[kind] <= 1_300_000,
    })),
  ];
}

async function measure(executable: string) {
  using folder = new BenchFolder();
  using provider = await Server.start([
    process.execPath,
    join(import.meta.dir, "cases", "delta-server.ts"),
    String(DELTAS),
    String(RATE),
  ]);
  const direct = await listen(
    await fetch(`${provider.url}/chat/completions`, { method: "POST", body: "{}" }),
    (data) => (data === "[DONE]" ? undefined : chunkSchema.parse(JSON.parse(data)).choices[0]?.delta.content),
  );
  using host = await Server.start([
    executable,
    "serve",
    "--port",
    "0",
    "--session-db",
    folder.file("store.db"),
    "--provider",
    "openai-compatible",
    "--model",
    "m",
    "--base-url",
    provider.url,
  ]);
  // The first Turn loads what Turns need.
  const turn = async (id: string) =>
    listen(
      await fetch(`${host.url}/api/v1/agent/invocations/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify({ input: "go" }),
      }),
      (data, event) =>
        event === "provisional" ? provisionalSchema.parse(JSON.parse(data)).data.chunk.text : undefined,
    );
  await turn("warm");
  const before = host.cpuMs();
  const through = await turn("measured");
  const cpuMicroseconds = ((host.cpuMs() - before) / DELTAS) * 1000;
  return { direct, through, cpuMicroseconds };
}

/** Milliseconds from sending to receiving, of every delta that says when it was sent. */
async function listen(
  response: Response,
  textOf: (data: string, event: string | undefined) => string | undefined,
): Promise<Delays> {
  const delays: number[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => {
      const sent = textOf(data, event);
      if (sent !== undefined) delays.push(performance.timeOrigin + performance.now() - Number(sent));
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  if (delays.length < DELTAS * 0.5) throw new Error(`only ${delays.length} of ${DELTAS} deltas came`);
  return { p50: percentile(delays, 0.5), p99: percentile(delays, 0.99) };
}

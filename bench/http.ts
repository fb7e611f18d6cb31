import { join } from "node:path";
import { z } from "zod";
import { BenchFolder, type Figure, format, median, runCase } from "./measure.ts";
import { timeGet } from "./raw-http.ts";
import { Server } from "./server.ts";

/* Reads over HTTP through the executable: a long session against JSON.stringify, small requests against bare Elysia. */

const READS = 41;
const AT_ONCE = 8;
const ROUNDS = 5;
/** Of small requests: one of them takes so little that the machine sways each round by a fifth. */
const SMALL_ROUNDS = 15;
/** After which nothing is left of what was written for readers. */
const FORGOTTEN_MS = 12_000;
const SMALL = "/api/v1/sessions/default";

const sessionSchema = z.object({ events: z.array(z.unknown()) });

export async function http(executable: string): Promise<Figure[]> {
  return [...(await longSession(executable)), ...(await smallRequests(executable))];
}

async function longSession(executable: string): Promise<Figure[]> {
  using folder = new BenchFolder();
  const store = folder.file("store.db");
  const { id } = await runCase<{ id: string }>("write-session", [store]);
  using host = await serve(executable, store, id);
  const path = `/api/v1/sessions/${id}`;
  const first = await timeGet(host.port, path);
  const { events } = sessionSchema.parse(await (await fetch(host.url + path)).json());
  const floors: number[] = [];
  const reads: number[] = [];
  const cpu = host.cpuMs();
  for (let read = 0; read < READS; read += 1) {
    const start = performance.now();
    JSON.stringify(events);
    floors.push(performance.now() - start);
    reads.push((await timeGet(host.port, path)).ms);
  }
  const cpuMs = (host.cpuMs() - cpu) / READS;
  const ratio = median(floors) / median(reads);
  // Answers to new states of the session cannot be shared with those before.
  const alone: number[] = [];
  for (let read = 0; read < ROUNDS; read += 1) {
    await invoke(host, `alone-${read}`);
    alone.push((await timeGet(host.port, path)).ms);
  }
  const atOnce = await readAtOnce(host, path);
  const against = `JSON.stringify of its events ${format(median(floors), 1)} ms, ${format(first.bytes)} bytes`;
  return [
    {
      what: `GET of a session of ${format(events.length)} events, again`,
      value: `${format(median(reads), 1)} ms to the last byte = ${format(ratio, 1)} times faster; ${format(cpuMs, 1)} ms of CPU`,
      against,
      target: "at least 3 times",
      met: ratio >= 3,
    },
    {
      what: "after each change of the session",
      value: `${format(median(alone), 1)} ms = ${format(median(floors) / median(alone), 1)} times faster; ${format(first.ms, 1)} ms the first time in a process`,
      against,
      target: "at least 3 times",
      met: median(floors) / median(alone) >= 3,
    },
    {
      what: `${AT_ONCE} such requests at once`,
      value: `+${format(atOnce.mb)} MB at most, all answered after ${format(atOnce.ms)} ms`,
      against: `resident before them; +${format(atOnce.allMb)} MB to the ${format(atOnce.idleMb)} of the idle process with ${ROUNDS} Turns between them`,
      target: "at most +64 MB",
      met: atOnce.mb <= 64,
    },
    {
      what: "other requests meanwhile",
      value: `p50 ${format(atOnce.p50, 1)} ms, p99 ${format(atOnce.p99, 1)} ms`,
      against: `${format(atOnce.requests)} requests of a client that has to share the processors`,
      target: "p99 at most 10 ms",
      met: atOnce.p99 <= 10,
    },
  ];
}

async function readAtOnce(host: Server, path: string) {
  // The first of them finds nothing that others left.
  await Bun.sleep(FORGOTTEN_MS);
  const idleMb = host.residentMb();
  let [mb, allMb] = [0, 0];
  let beforeMb = idleMb;
  const timer = setInterval(() => {
    const residentMb = host.residentMb();
    mb = Math.max(mb, residentMb - beforeMb);
    allMb = Math.max(allMb, residentMb - idleMb);
  }, 2);
  const poll = load("poll", host, "/healthz");
  await Bun.sleep(300);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await invoke(host, `at-once-${round}`);
    beforeMb = host.residentMb();
    times.push(z.object({ ms: z.number() }).parse(await finish(load("read", host, path, AT_ONCE))).ms);
  }
  await poll.stdin.end();
  const latencies = z
    .object({ requests: z.number(), p50: z.number(), p99: z.number() })
    .parse(await finish(poll));
  clearInterval(timer);
  return { idleMb, mb, allMb, ms: median(times), ...latencies };
}

async function smallRequests(executable: string): Promise<Figure[]> {
  using folder = new BenchFolder();
  using host = await serve(executable, folder.file("store.db"), "default");
  await invoke(host, "small");
  const session = await (await fetch(host.url + SMALL)).text();
  using bare = await Server.start(
    [process.execPath, join(import.meta.dir, "cases", "bare-elysia.ts"), session],
    { NODE_ENV: "production" },
  );
  const figures: Figure[] = [];
  for (const path of ["/healthz", SMALL]) {
    const floors: Load[] = [];
    const loads: Load[] = [];
    for (let round = 0; round < SMALL_ROUNDS; round += 1) {
      floors.push(await rate(bare, path));
      loads.push(await rate(host, path));
    }
    const ratio = median(loads.map(({ rate }, round) => rate / (floors[round]?.rate ?? Number.NaN)));
    const floor = median(floors.map(({ rate }) => rate));
    const [cpu, floorCpu] = [loads, floors].map((all) =>
      median(all.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    );
    figures.push({
      what: path === SMALL ? `GET of a session of ${format(session.length)} bytes` : `GET ${path}`,
      value: `${format(median(loads.map(({ rate }) => rate)))}/s = ${format(ratio, 2)} of the floor; ${format(cpu ?? 0, 1)} µs of CPU each`,
      against: `bare Elysia with the same answer ${format(floor)}/s, ${format(floorCpu ?? 0, 1)} µs, 32 connections`,
      target: "at least 0.8",
      met: ratio >= 0.8,
    });
  }
  return figures;
}

function serve(executable: string, store: string, id: string): Promise<Server> {
  return Server.start([executable, "serve", "--port", "0", "--session-db", store, "--session-id", id]);
}

/** Makes the session longer by a Turn. */
async function invoke(host: Server, id: string): Promise<void> {
  const answer = await fetch(`${host.url}/api/v1/agent/invocations/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "say hello" }),
  });
  if (!answer.ok) throw new Error(`the Turn failed: ${await answer.text()}`);
}

function load(mode: string, server: Server, path: string, count = 1) {
  const script = join(import.meta.dir, "cases", "http-load.ts");
  return Bun.spawn([process.execPath, script, mode, String(server.port), path, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
}

async function finish(child: ReturnType<typeof load>): Promise<unknown> {
  return new Response(child.stdout).json();
}

interface Load {
  /** Requests a second. */
  readonly rate: number;
  /** Of the server, a request. */
  readonly cpuMicroseconds: number;
}

async function rate(server: Server, path: string): Promise<Load> {
  const before = server.cpuMs();
  const { rate, answers } = z
    .object({ rate: z.number(), answers: z.number() })
    .parse(await finish(load("rate", server, path)));
  return { rate, cpuMicroseconds: ((server.cpuMs() - before) * 1000) / answers };
}

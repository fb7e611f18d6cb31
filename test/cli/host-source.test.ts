import { describe, expect, test } from "bun:test";
import { type HostAddress, parseHostAddress } from "../../src/cli/conversation/host-address.ts";
import { HostSource } from "../../src/cli/conversation/host-source.ts";
import type { TurnUpdate } from "../../src/cli/conversation/source.ts";
import { HoldfastError } from "../../src/session/errors.ts";
import {
  CUT,
  type Part,
  ProviderServer,
  partsReply,
  type Reply,
  statusReply,
} from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const ANSWER = { invocationId: "i", message: "Hello.", reason: { kind: "completed" }, further: [1] };
const PROBLEM = {
  status: 502,
  code: "provider-auth",
  title: "T",
  detail: "The key is refused",
  hint: "Set another.",
};

/** One event of the stream. */
function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function chunk(seq: number, text: string, provisional = false): string {
  const data = { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text } };
  return provisional
    ? event("provisional", { provisional: true, type: "assistant/chunk", seq, data })
    : event("event", { type: "assistant/chunk", seq, time: 1, data });
}

function sourceOf({ origin }: ProviderServer): HostSource {
  return new HostSource(parseHostAddress(origin, "--url"), undefined, undefined);
}

interface RunOptions {
  readonly live?: boolean;
  readonly signal?: AbortSignal;
  readonly onUpdate?: () => void;
}

/** Everything that is told of a Turn, and what it failed of. */
async function run(
  source: HostSource,
  { live = true, signal = new AbortController().signal, onUpdate = () => {} }: RunOptions = {},
): Promise<{ updates: TurnUpdate[]; error?: HoldfastError }> {
  const updates: TurnUpdate[] = [];
  try {
    for await (const update of source.run("Hi", { live, signal })) {
      updates.push(update);
      onUpdate();
    }
  } catch (error) {
    if (error instanceof HoldfastError) return { updates, error };
    throw error;
  }
  return { updates };
}

async function runWith(...parts: Part[]) {
  await using server = new ProviderServer(partsReply(parts));
  return await run(sourceOf(server));
}

function textOf(updates: readonly TurnUpdate[]): string {
  return updates.map((update) => (update.kind === "text" ? update.text : `(${update.kind})`)).join("");
}

describe("a Turn on a Host, as a stream", () => {
  test("tells each delta once, be it durable already or not", async () => {
    const { updates, error } = await runWith(
      ": open\n\n",
      chunk(3, "a"),
      chunk(4, "b", true),
      chunk(5, "c", true),
      chunk(4, "b") + chunk(5, "c"),
      chunk(6, "d"),
      event("done", ANSWER),
    );
    expect(error).toBeUndefined();
    expect(textOf(updates)).toBe("abcd(done)");
    expect(updates.at(-1)).toEqual({ kind: "done", answer: ANSWER });
  });

  test("passes over what it does not know, and puts together what is cut anywhere", async () => {
    const bytes = Buffer.from(chunk(3, "µ\u{1f4a3}"));
    const { updates } = await runWith(
      ...[event("later/kind", {}), event("event", { type: "later/type", seq: 1, time: 1, data: {} })],
      ...Array.from(bytes, (_, k) => bytes.subarray(k, k + 1)),
      ...[
        event("provisional", { seq: 9, data: { turn: 1, step: 1, chunk: { type: "later" } } }),
        event("done", ANSWER),
      ],
    );
    expect(textOf(updates)).toBe("µ\u{1f4a3}(done)");
  });

  test("fails with the problem that ends it", async () => {
    const { updates, error } = await runWith(chunk(3, "a"), event("error", PROBLEM));
    expect(textOf(updates)).toBe("a");
    expect(error).toMatchObject({
      code: "provider-auth",
      message: "The key is refused",
      hint: "Set another.",
    });
  });

  test.each<[string, Part]>([
    ["cut off", CUT],
    ["ended early", ""],
  ])("fails when it is %s", async (_, end) => {
    const heard = Promise.withResolvers<void>();
    await using server = new ProviderServer(partsReply([chunk(3, "a"), heard.promise, end]));
    const { updates, error } = await run(sourceOf(server), { onUpdate: heard.resolve });
    expect(textOf(updates)).toBe("a");
    expect(error).toMatchObject({ code: "host-unreachable" });
    expect(error?.message).toMatch(
      /^The Host at http:\/\/127\.0\.0\.1:\d+ went away in the middle of the Turn$/,
    );
    expect(error?.hint).toContain("may have been recorded");
  });

  test.each([
    ["an end that is none", event("done", { message: 1 })],
    ["an error that is none", event("error", "oh")],
    ["no JSON", "event: event\ndata: oh\n\n"],
  ])("fails when it holds %s", async (_, text) => {
    expect((await runWith(text)).error?.message).toContain("is not a Holdfast Host");
  });
});

describe("a Turn on a Host", () => {
  const answered = (body: object, status = 200): Reply => statusReply(status, body);

  test("is told by an answer that is no stream, too", async () => {
    await using server = new ProviderServer(answered(ANSWER), answered(ANSWER));
    const source = sourceOf(server);
    for (const live of [true, false]) {
      expect(await run(source, { live })).toEqual({ updates: [{ kind: "done", answer: ANSWER }] });
    }
    expect(server.requests.map(({ headers }) => headers.get("accept"))).toEqual([
      "text/event-stream",
      "application/json",
    ]);
  });

  test("is cancelled again until the Host knows of it", async () => {
    const ended = Promise.withResolvers<void>();
    const unknown = answered({ ...PROBLEM, code: "invocation-unknown" }, 404);
    await using server = new ProviderServer(
      async () => {
        await ended.promise;
        return Response.json({ ...PROBLEM, code: "invocation-cancelled" }, { status: 409 });
      },
      unknown,
      () => {
        ended.resolve();
        return Response.json({}, { status: 202 });
      },
    );
    const cancel = new AbortController();
    const turn = run(sourceOf(server), { signal: cancel.signal });
    await server.request(0);
    cancel.abort();
    expect((await turn).error).toMatchObject({ code: "invocation-cancelled" });
    expect(server.requests.map(({ method }) => method)).toEqual(["POST", "DELETE", "DELETE"]);
    expect(new Set(server.requests.map(({ path }) => path)).size).toBe(1);
  });

  test("is not sent on to where a redirect leads", async () => {
    await using other = new ProviderServer(answered(ANSWER));
    await using server = new ProviderServer(statusReply(307, "", { location: other.origin }));
    const { error } = await run(sourceOf(server));
    expect(error?.message).toMatch(/is not a Holdfast Host \(status 307\)$/);
    expect(other.requests).toHaveLength(0);
  });

  test("that is cancelled before it is sent is not sent", async () => {
    await using server = new ProviderServer(answered(ANSWER));
    const { error } = await run(sourceOf(server), { signal: AbortSignal.abort() });
    expect(error).toMatchObject({ code: "invocation-cancelled" });
    expect(server.requests).toHaveLength(0);
  });

  test.skipIf(process.platform === "win32")("is sent over a socket in the file system", async () => {
    await using folder = await TempFolder.create();
    const address: HostAddress = parseHostAddress(`unix:${folder.at("host.sock")}`, "--url");
    const source = new HostSource(address, { provider: "p", model: "m" }, "house key");
    expect((await run(source)).error?.message).toBe(
      `No Host answers at ${address.name}: there is no such socket`,
    );
    let seen: unknown;
    await using _server = Bun.serve({
      unix: folder.at("host.sock"),
      fetch: async (request) => {
        seen = { token: request.headers.get("authorization"), body: await request.json() };
        return Response.json(ANSWER);
      },
    });
    expect((await run(source)).updates).toHaveLength(1);
    expect(seen).toEqual({
      token: "Bearer house key",
      body: { input: "Hi", route: { provider: "p", model: "m" } },
    });
  });
});

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import { type Finished, runHoldfast } from "../fixtures/executable.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, type RecordedRequest, sseReply, textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const eventSchema = z.looseObject({ type: z.string(), seq: z.number() });
const bodySchema = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

/** A store whose session `default` has these many Turns, input and answer `N`. */
async function grown(kind: (typeof DURABLE_STORES)[number], turns: number): Promise<HostLab> {
  const numbers = Array.from({ length: turns }, (_, k) => String(k + 1));
  const lab = await HostLab.on(kind, ...numbers.map((number) => textReply(number)));
  const host = await lab.start();
  for (const number of numbers) await host.client.invoke(number);
  await host.stop("SIGTERM");
  return lab;
}

/** The stored events of a session, byte for byte. */
async function stored(lab: HostLab, id = "default"): Promise<string> {
  const { code, stdout, stderr } = await runHoldfast(["sessions", "show", id, lab.store, "--events"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

function eventsIn(lines: string) {
  return lines
    .trimEnd()
    .split("\n")
    .map((line) => eventSchema.parse(JSON.parse(line)));
}

/** Seqs at which a session can be forked. */
async function boundaries(lab: HostLab): Promise<number[]> {
  return eventsIn(await stored(lab)).flatMap(({ type, seq }) => (type === "turn/end" ? [seq] : []));
}

/** What a model was told: the texts of the conversation. */
function conversation(request: RecordedRequest): string[] {
  return bodySchema.parse(request.json()).messages.map(({ content }) => content);
}

/** Starts a Host that shall not come up. */
function refused(lab: HostLab, ...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["serve", "--port", "0", ...lab.args, ...args]);
}

describe.each(DURABLE_STORES)("serve --fork-from, on %s,", (kind) => {
  test("starts on a copy and goes on with it when it is run again; the parent stays as it is", async () => {
    await using lab = await grown(kind, 2);
    const parent = await stored(lab);
    const args = ["--fork-from", "default", "--session-id", "second"];
    for (const turn of [3, 4]) {
      lab.server.script(textReply("x"));
      const host = await lab.start({ args });
      expect((await host.client.invoke(`turn ${turn}`)).body).toMatchObject({ sessionId: "second", turn });
      await host.stop("SIGTERM");
      expect(host.stderr.text).toContain(
        turn === 3
          ? `New session second, forked from default after ${eventsIn(parent).length} events`
          : "Resumed session second",
      );
    }
    const [, , third, fourth] = lab.server.requests;
    expect(third && conversation(third)).toEqual(["1", "1", "2", "2", "turn 3"]);
    expect(fourth && conversation(fourth)).toEqual(["1", "1", "2", "2", "turn 3", "x", "turn 4"]);
    expect(await stored(lab)).toBe(parent);
    expect((await stored(lab, "second")).startsWith(parent)).toBe(true);
  });

  test("cuts at the Turn that --at names, of a fork as well", async () => {
    await using lab = await grown(kind, 3);
    const [first = -1, second = -1] = await boundaries(lab);
    const parent = await stored(lab);
    const forks = [
      ["default", "a", second, ["1", "1", "2", "2"]],
      ["a", "b", first, ["1", "1"]],
    ] as const;
    for (const [from, id, at, expected] of forks) {
      lab.server.script(textReply("x"));
      const args = ["--fork-from", from, "--at", String(at), "--session-id", id];
      const host = await lab.start({ args });
      expect((await host.client.read(id)).header).toMatchObject({ parentSession: from, seedLength: at + 1 });
      await host.client.invoke("go on");
      await host.stop("SIGTERM");
      expect(conversation(await lab.server.request(lab.server.requests.length - 1))).toEqual([
        ...expected,
        "go on",
      ]);
    }
    expect(await stored(lab)).toBe(parent);
  });

  test("leaves a Turn of the parent that a kill interrupted open there, and out of the copy", async () => {
    await using lab = await grown(kind, 1);
    lab.server.script(sseReply([delta({ content: "Well" }), forever()]), textReply("2b"));
    const killed = await lab.start();
    const cut = killed.client.invoke("2").catch(() => undefined);
    await lab.server.request(1);
    await killed.stop("SIGKILL");
    await cut;
    const parent = await stored(lab);
    expect(eventsIn(parent).at(-1)?.type).not.toBe("turn/end");
    const host = await lab.start({ args: ["--fork-from", "default", "--session-id", "f"] });
    expect((await host.client.invoke("2b")).body).toMatchObject({ turn: 2 });
    expect(conversation(await lab.server.request(2))).toEqual(["1", "1", "2b"]);
    await host.stop("SIGTERM");
    expect(await stored(lab)).toBe(parent);
  });
});

describe("serve --fork-from", () => {
  test("without --session-id makes a new session each time, and its log tells which", async () => {
    await using lab = await grown("sqlite", 1);
    const ids = new Set<string>();
    for (let start = 0; start < 2; start += 1) {
      const host = await lab.start({ args: ["--fork-from", "default"] });
      const id = /New session (\S+), forked from default/.exec(host.stderr.text)?.[1] ?? "";
      expect((await host.client.read(id)).header).toMatchObject({ id, parentSession: "default" });
      await host.stop("SIGTERM");
      ids.add(id);
    }
    expect(ids.size).toBe(2);
    const [id = ""] = ids;
    lab.server.script(textReply("again"));
    const host = await lab.start({ args: ["--session-id", id] });
    expect((await host.client.invoke("go on")).body).toMatchObject({ sessionId: id, turn: 2 });
  });

  test("refuses an id that another conversation has, and closes none of its Turns", async () => {
    await using lab = await grown("sqlite", 2);
    const [first = -1, second = -1] = await boundaries(lab);
    const fork = ["--fork-from", "default", "--session-id", "fork", "--at", String(second)];
    await (await lab.start({ args: fork })).stop("SIGTERM");
    lab.server.script(sseReply([delta({ content: "Well" }), forever()]));
    const killed = await lab.start({ args: ["--session-id", "other"] });
    const cut = killed.client.invoke("hello").catch(() => undefined);
    await lab.server.request(2);
    await killed.stop("SIGKILL");
    await cut;
    const before = await stored(lab, "other");
    const other = await refused(lab, "--fork-from", "default", "--session-id", "other");
    expect(other).toMatchObject({ code: 4, stdout: "" });
    expect(other.stderr).toContain(
      'The session "other" is there already, and is no fork, not one of "default"',
    );
    expect(other.stderr).toContain("hint: Leave --fork-from out to go on with it");
    expect(await stored(lab, "other")).toBe(before);

    const elsewhere = await refused(lab, ...fork.slice(0, -1), String(first));
    expect(elsewhere).toMatchObject({ code: 4, stdout: "" });
    expect(elsewhere.stderr).toContain(
      `is a fork of "default" at seq ${second}, not one of "default" at seq ${first}`,
    );
  });

  test("refuses what cannot be forked, with an exit code of its own, and makes no session", async () => {
    await using lab = await grown("sqlite", 1);
    const [end = -1] = await boundaries(lab);
    for (const at of [end - 1, end + 1, 0]) {
      const inside = await refused(lab, "--fork-from", "default", "--session-id", "f", "--at", String(at));
      expect(inside).toMatchObject({ code: 2, stdout: "" });
      expect(inside.stderr).toContain(`has no closed Turn that ends at seq ${at}`);
    }
    const unknown = await refused(lab, "--fork-from", "nobody", "--session-id", "f");
    expect(unknown).toMatchObject({ code: 3, stdout: "" });
    expect(unknown.stderr).toContain('There is no session "nobody"');
    const memory = await runHoldfast(["serve", "--port", "0", "--fork-from", "default"]);
    expect(memory).toMatchObject({ code: 3, stdout: "" });
    expect(memory.stderr).toContain("sessions in memory end with their process");
    expect(memory.stderr).toContain("hint: Name the store that holds it");
    const list = await runHoldfast(["sessions", "list", lab.store, "--json"]);
    expect(list.stdout.trim().split("\n")).toHaveLength(1);
    await lab.start();
    expect(await refused(lab, "--fork-from", "default", "--session-id", "f")).toMatchObject({
      code: 6,
      stdout: "",
    });
  });
});

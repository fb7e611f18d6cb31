import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { validHistory } from "../fixtures/chat-history.ts";
import { converse, killInAnswer } from "../fixtures/conversation.ts";
import { DURABLE_STORES, HostLab, type StoreKind } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const ENDINGS = ["SIGINT", "SIGTERM", "SIGKILL"] as const;

/** By the kind of store: made once, whatever ends the Hosts that are held to it. */
const unbroken = new Map<StoreKind, Promise<string>>();

/** The body of the request for the fourth Turn of a conversation that no restart came into. */
function unbrokenRequest(kind: StoreKind): Promise<string> {
  const request = unbroken.get(kind) ?? makeUnbrokenRequest(kind);
  unbroken.set(kind, request);
  return request;
}

async function makeUnbrokenRequest(kind: StoreKind): Promise<string> {
  await using lab = await HostLab.on(kind);
  const host = await lab.start();
  await converse(host, lab);
  lab.server.script(textReply("Done."));
  await host.client.invoke("And now?");
  return lab.server.requests.at(-1)?.body ?? "";
}

const CASES = ENDINGS.flatMap((signal) => DURABLE_STORES.map((kind) => [signal, kind] as const));

describe.each(CASES)("after %s and a start, with sessions in %s", (signal, kind) => {
  test("a conversation reads back as it was, and goes on from it, without what was never said", async () => {
    await using lab = await HostLab.on(kind);
    const first = await lab.start();
    await converse(first, lab);
    await killInAnswer(first, lab, "And now?");
    const interrupted = validHistory(lab.server.requests.at(-1)?.body ?? "");

    const second = await lab.start();
    const closed = await second.client.read();
    expect(closed.transcript.map(({ kind, turn }) => `${kind} ${turn}`)).toEqual([
      "user 1",
      "assistant 1",
      "tool 1",
      "tool 1",
      "assistant 1",
      "user 2",
      "turn-end 2",
      "user 3",
      "assistant 3",
      "turn-end 3",
      "user 4",
      "assistant 4",
      "turn-end 4",
    ]);
    expect(closed.events.filter(({ type }) => type === "turn/end").map(({ data }) => data)).toMatchObject([
      { reason: { kind: "completed" } },
      { reason: { kind: "error", error: { code: "provider-rejected" } } },
      { reason: { kind: "aborted", reason: { kind: "user" } } },
      { reason: { kind: "interrupted" } },
    ]);
    await second.stop(signal);

    const third = await lab.start();
    // Event for event, and line for line.
    expect((await third.client.read()).text).toBe(closed.text);

    lab.server.script(textReply("Here I am."));
    expect((await third.client.invoke("Still there?")).body).toMatchObject({ turn: 5, steps: 1 });
    const history = validHistory(lab.server.requests.at(-1)?.body ?? "");
    expect(history).toEqual([...interrupted, { role: "user", content: "Still there?" }]);
  });

  test("the next Turn has the next number, and the model is sent what an unbroken run would send", async () => {
    const expected = await unbrokenRequest(kind);
    await using lab = await HostLab.on(kind);
    const first = await lab.start();
    await converse(first, lab);
    const whole = await first.client.read();
    await first.stop(signal);

    const second = await lab.start();
    expect((await second.client.read()).text).toBe(whole.text);
    lab.server.script(textReply("Done."));
    const { body } = await second.client.invoke("And now?");
    expect(body).toMatchObject({ turn: 4, steps: 1, message: "Done." });
    expect(lab.server.requests.at(-1)?.body).toBe(expected);
    expect(validHistory(expected).length).toBeGreaterThan(5);

    const { events, nextSeq } = await second.client.read();
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: nextSeq }, (_, seq) => seq));
    // The envelope is the same as before the restart, so it is not written down again.
    const more = events.slice(whole.nextSeq).map(({ type }) => type);
    expect(more.slice(0, 4)).toEqual(["turn/start", "user/message", "step/start", "assistant/chunk"]);
  });
});

test.each(DURABLE_STORES)(
  "a session goes on over many restarts without a gap in its numbers, in %s",
  async (kind) => {
    await using lab = await HostLab.on(kind);
    for (let turn = 1; turn <= 6; turn += 1) {
      const host = await lab.start();
      lab.server.script(textReply(`Answer ${turn}`));
      expect((await host.client.invoke(`Question ${turn}`)).body).toMatchObject({ turn });
      await host.stop(ENDINGS[turn % ENDINGS.length] ?? "SIGKILL");
    }
    const { transcript } = await (await lab.start()).client.read();
    expect(transcript.map((entry) => entry["text"])).toEqual(
      [1, 2, 3, 4, 5, 6].flatMap((turn) => [`Question ${turn}`, `Answer ${turn}`]),
    );
    expect(validHistory(lab.server.requests.at(-1)?.body ?? "")).toHaveLength(11);
  },
);

import { expect, setDefaultTimeout, test } from "bun:test";
import { hangingReply, streamed } from "../fixtures/conversation.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { SseClient } from "../fixtures/sse-client.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test("invocations wait in order up to --max-queue; one that is cancelled makes room and leaves nothing", async () => {
  await using lab = await HostLab.create(
    hangingReply("Well"),
    ...["two", "three", "four"].map((text) => textReply(text)),
  );
  const host = await lab.start({ args: ["--max-queue", "3"] });
  const { client, url } = host;
  const streams = [await SseClient.invoke(url, "one", "one")];
  await streamed(host, "Well");
  for (const id of ["two", "never", "three"]) streams.push(await SseClient.invoke(url, id, id));

  const send = (id: string) =>
    fetch(`${url}/api/v1/agent/invocations/${id}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: '{"input": "four"}',
    });
  await expectProblem(await send("four"), 503, "queue-full");
  await expectProblem(await send("two"), 409, "invocation-duplicate");
  await expectProblem(await send("one"), 409, "invocation-duplicate");
  expect((await client.cancel("never")).status).toBe(202);
  streams.push(await SseClient.invoke(url, "four", "four"));
  expect((await client.cancel("one")).status).toBe(202);

  const ends = await Promise.all(streams.map(async (stream) => (await stream.rest()).at(-1)?.data));
  const cancelled = { code: "invocation-cancelled", status: 409 };
  expect(ends).toMatchObject([
    cancelled,
    { invocationId: "two", turn: 2, message: "two" },
    cancelled,
    { invocationId: "three", turn: 3, message: "three" },
    { invocationId: "four", turn: 4, message: "four" },
  ]);
  // An id that has its answer is free.
  lab.server.script(textReply("again"));
  expect((await client.invoke("once more", "one")).body).toMatchObject({ turn: 5, message: "again" });
  const { text, transcript } = await client.read();
  expect(text).not.toContain("never");
  expect(transcript.filter(({ kind }) => kind === "user")).toMatchObject(
    ["one", "two", "three", "four", "once more"].map((input) => ({ text: input })),
  );
});

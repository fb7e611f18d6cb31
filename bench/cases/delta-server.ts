/*
 * A Chat Completions server that streams deltas at a steady rate, each of which says when it was sent. Prints its URL.
 * Arguments: deltas, deltas a second.
 */

const [count = 5_000, rate = 1_000] = process.argv.slice(2).map(Number);
/** Deltas are sent in bunches, as timers are no finer. */
const BUNCH_MS = 2;

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch() {
    const encoder = new TextEncoder();
    const start = performance.now();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const due = () => Math.min(count, Math.floor(((performance.now() - start) / 1000) * rate));
        while (due() <= sent) await Bun.sleep(BUNCH_MS);
        let text = "";
        for (const end = due(); sent < end; sent += 1) {
          text += chunk({ content: ` ${(performance.timeOrigin + performance.now()).toFixed(3)}` });
        }
        if (sent >= count) text += `${chunk({}, "stop")}data: [DONE]\n\n`;
        controller.enqueue(encoder.encode(text));
        if (sent >= count) controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
});
process.stdout.write(`http://127.0.0.1:${server.port}/v1\n`);

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Chunk } from "../../../../src/session/events.ts";
import { ProviderServer, packets, partsReply } from "../../../fixtures/provider-server.ts";
import {
  call,
  connectionTo,
  END,
  finish,
  type Item,
  reasoning,
  text,
  tokens,
  type Wire,
} from "../../../fixtures/wire.ts";
import { askOnce, chunksOf, readAnswer } from "../../../fixtures/wire-chunks.ts";
import { EACH_WIRE } from "../../../fixtures/wires.ts";

/** An answer of every kind of block, with characters of one to four bytes. */
const ITEMS: readonly Item[] = [
  reasoning("hm… é"),
  text("héllo 😀 "),
  text("wörld\u2028\u0085\u0000\r\n日本"),
  call(0, { id: "a", name: "f", args: '{"text":"' }),
  call(0, { args: '✓😀"}' }),
  finish("tool-calls"),
  tokens({ input: 5, output: 6 }),
];

function streamText(wire: Wire, items: readonly Item[] = [...ITEMS, END]): string {
  return wire
    .encode(items)
    .filter((part) => typeof part === "string")
    .join("");
}

const asIs = (wire: Wire) => askOnce(wire, partsReply([streamText(wire)]));

describe.each(EACH_WIRE)("the stream over %s", (_, wire) => {
  test("gives the same chunks however it is cut into packets", async () => {
    const expected = await asIs(wire);
    expect(readAnswer(expected)).toMatchObject({
      blocks: [
        { text: "hm… é" },
        { text: "héllo 😀 wörld\u2028\u0085\u0000\r\n日本" },
        { arguments: '{"text":"✓😀"}' },
      ],
      finish: "tool-calls",
    });
    const bytes = new TextEncoder().encode(streamText(wire));
    await using server = new ProviderServer();
    const provider = await wire.connect(connectionTo(wire, server.origin));
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 12 });
    const property = fc.asyncProperty(cuts, async (places) => {
      const edges = [0, ...places.toSorted((a, b) => a - b), bytes.length];
      server.script(partsReply(edges.slice(1).map((edge, k) => bytes.subarray(edges[k], edge))));
      expect(await chunksOf(wire, provider)).toEqual(expected);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test("gives the same chunks in packets of one byte: every character is cut everywhere", async () => {
    expect(await askOnce(wire, partsReply(packets(streamText(wire), 1)))).toEqual(await asIs(wire));
  });

  test.each(["\n", "\r\n", "\r"])(
    "may end its lines with %j, have comments and a byte order mark",
    async (end) => {
      const noisy = streamText(wire).replaceAll("\n\n", "\n\n: keep-alive\n\n:\nid: 7\nretry: 10\n\n");
      const body = `\ufeff: hello\n\n${noisy}`.replaceAll("\n", end);
      const expected = await asIs(wire);
      expect(await askOnce(wire, partsReply([body]))).toEqual(expected);
      expect(await askOnce(wire, partsReply(packets(body, 3)))).toEqual(expected);
    },
  );

  test("may spread the data of an event over several lines, with and without a blank behind the colon", async () => {
    const body = streamText(wire)
      .replaceAll(/^data: (\{[^"]*"[^"]*":)(.*)$/gm, "data:$1\ndata:$2")
      .replaceAll(/^event: /gm, "event:");
    expect(await askOnce(wire, partsReply([body]))).toEqual(await asIs(wire));
  });

  test("may lack the blank line behind its last event", async () => {
    expect(await askOnce(wire, partsReply([streamText(wire).trimEnd()]))).toEqual(await asIs(wire));
  });

  test.each(["text/event-stream", "text/event-stream;charset=UTF-8", "Text/Event-Stream", undefined])(
    "may have the content type %p",
    async (type) => {
      const headers = type === undefined ? {} : { "content-type": type };
      const chunks: Chunk[] = await askOnce(wire, partsReply([streamText(wire)], { headers }));
      expect(chunks).toEqual(await asIs(wire));
    },
  );

  test("may be compressed", async () => {
    const body = Bun.gzipSync(streamText(wire));
    const headers = { "content-type": "text/event-stream", "content-encoding": "gzip" };
    expect(await askOnce(wire, partsReply([body], { headers }))).toEqual(await asIs(wire));
  });
});

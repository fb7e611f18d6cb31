import { describe, expect, test } from "bun:test";
import { prefersEventStream } from "../../src/routes/accept.ts";

describe("an event stream is for those who would rather have it than JSON", () => {
  test.each([
    ["text/event-stream"],
    ["Text/Event-Stream; charset=utf-8"],
    ["text/*"],
    ["text/event-stream, */*"],
    ["text/event-stream, */*;q=0.8"],
    ["*/*, text/event-stream"],
    ["text/event-stream, application/json"],
    ["application/json;q=0.9, text/event-stream"],
    ["application/json ; q=0.2 , text/event-stream ; q=0.3"],
    ["text/event-stream;q=0.5, application/json;q=0"],
    ["text/html, text/event-stream;q=0.1"],
    [", text/event-stream"],
  ])("%s: yes", (accept) => {
    expect(prefersEventStream(accept, "application/json")).toBe(true);
  });

  test.each([
    [null],
    [undefined],
    [""],
    ["*/*"],
    ["application/json"],
    ["application/*"],
    ["image/png"],
    ["application/json, text/event-stream"],
    ["application/json, text/event-stream;q=0.9"],
    ["text/event-stream;q=0"],
    ["text/event-stream;q=0, */*"],
    ["text/event-stream;q=0.0, text/*"],
    ["text/event-stream;q=0.5, */*"],
    ["application/json;q=0.1, */*"],
    ["text/event-streams"],
    ["xtext/event-stream"],
    ["text/html;x=text/event-stream"],
  ])("%p: no", (accept) => {
    expect(prefersEventStream(accept, "application/json")).toBe(false);
  });

  test("what it is held against is what there is otherwise", () => {
    const accept = "application/x-ndjson, text/event-stream;q=0.5";
    expect(prefersEventStream(accept, "application/x-ndjson")).toBe(false);
    expect(prefersEventStream(accept, "application/json")).toBe(true);
  });
});

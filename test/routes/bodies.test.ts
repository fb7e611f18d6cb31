import { describe, expect, test } from "bun:test";
import { publicId } from "../../src/routes/public-id.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import { expectProblem } from "../fixtures/problem.ts";

const MAX = 8 * 1024 * 1024;
const JSON_TYPE = { "content-type": "application/json" };
const INPUT = JSON.stringify({ input: "say hello" });

/** A body of `size` bytes that says nothing of its length beforehand. */
function chunked(size: number): ReadableStream<Uint8Array> {
  const piece = 512 * 1024;
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= size) return controller.close();
      const next = Math.min(piece, size - sent);
      controller.enqueue(new Uint8Array(next).fill(0x20));
      sent += next;
    },
  });
}

/** An input that makes a body of exactly `size` bytes. */
function bodyOf(size: number): string {
  const frame = JSON.stringify({ input: "say " }).length;
  return JSON.stringify({ input: `say ${"x".repeat(size - frame)}` });
}

describe("a body", () => {
  test.each([
    ["is cut off", '{"input": "say hel'],
    ["has nothing in it", ""],
    ["is a bare word", "hello"],
    ["has two values", '{"input":"say a"} {"input":"say b"}'],
    ["is not UTF-8", Uint8Array.from([...Buffer.from('{"input":"say '), 0xff, 0xfe, ...Buffer.from('"}')])],
  ])("that %s is no JSON", async (_, body) => {
    await using rig = await AppRig.start();
    await expectProblem(await rig.post(body), 400, "invalid-request");
    expect(rig.log.length).toBe(0);
  });

  test.each([
    ["arrays", `{"input":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    [
      "objects, beside a good input",
      `{"input":"say x","y":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`,
    ],
  ])("of %s without an end is refused as any other", async (_, body) => {
    await using rig = await AppRig.start();
    await expectProblem(await rig.post(body), 400, "invalid-request");
    expect(rig.log.length).toBe(0);
    expect(rig.reports).toEqual([]);
  });

  test.each([
    ["an array", []],
    ["null", null],
    ["a text", "say hello"],
    ["an object without input", {}],
    ["an empty input", { input: "" }],
    ["an input that is no text", { input: 7 }],
    ["an unknown member", { input: "say hello", temperature: 1 }],
    ["half a route", { input: "say hello", route: { provider: "demo" } }],
    ["a route with an unknown member", { input: "x", route: { provider: "demo", model: "demo", key: "k" } }],
    ["a route that is a text", { input: "x", route: "demo/demo" }],
  ])("with %s breaks the schema, and the answer says where", async (_, body) => {
    await using rig = await AppRig.start();
    const problem = await expectProblem(await rig.post(JSON.stringify(body)), 400, "invalid-request");
    expect(problem.detail).toMatch(/^The body is not valid: \S/);
    expect(rig.log.length).toBe(0);
  });

  test("with names that are a book is refused in a few words", async () => {
    await using rig = await AppRig.start();
    for (const name of ["k".repeat(1_000_000), "\u{1F9C0}".repeat(1_000)]) {
      const problem = await expectProblem(
        await rig.post(JSON.stringify({ input: "x", [name]: 1 })),
        400,
        "invalid-request",
      );
      expect(problem.detail).toStartWith("The body is not valid: ");
      expect(problem.detail.length).toBeLessThan(500);
      expect(problem.detail.isWellFormed()).toBe(true);
    }
  });

  test.each([
    ["none", {}],
    ["text/plain", { "content-type": "text/plain" }],
    // What a form on any web page can send without asking.
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["a form with files", { "content-type": "multipart/form-data; boundary=x" }],
    ["bytes", { "content-type": "application/octet-stream" }],
    ["a type that only begins like JSON", { "content-type": "application/jsonp" }],
    ["JSON of a patch", { "content-type": "application/json-patch+json" }],
  ])("of another content type is not read: %s", async (_, headers) => {
    await using rig = await AppRig.start();
    const bytes = new TextEncoder().encode(INPUT);
    await expectProblem(await rig.post(bytes, headers), 415, "unsupported-media-type");
    expect(rig.log.length).toBe(0);
  });

  test("that is a form with the right field is not taken for JSON either", async () => {
    await using rig = await AppRig.start();
    const response = await rig.post("input=say+hello", {
      "content-type": "application/x-www-form-urlencoded",
    });
    await expectProblem(response, 415, "unsupported-media-type");
    expect(rig.log.length).toBe(0);
  });

  test.each(["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8"])(
    "of type %s is JSON",
    async (type) => {
      await using rig = await AppRig.start();
      expect((await rig.post(INPUT, { "content-type": type })).status).toBe(200);
    },
  );

  test("at the limit is taken, and one byte more is too large", async () => {
    await using rig = await AppRig.start();
    const taken = await rig.post(bodyOf(MAX));
    expect(await taken.json()).toMatchObject({ turn: 1, reason: { kind: "completed" } });
    const length = rig.log.length;
    await expectProblem(await rig.post(bodyOf(MAX + 1)), 413, "too-large");
    expect(rig.log.length).toBe(length);
  });

  test.each([
    ["with a length", () => new Uint8Array(3 * MAX)],
    ["in chunks", () => chunked(3 * MAX)],
    ["in chunks, one byte over", () => chunked(MAX + 1)],
  ])("that is too large is refused when it comes %s, and the next request is served", async (_, make) => {
    await using rig = await AppRig.start();
    const problem = await expectProblem(await rig.post(make()), 413, "too-large");
    expect(problem.detail).toContain(String(MAX));
    expect((await rig.post(INPUT)).status).toBe(200);
  });

  test("in chunks is read like any other", async () => {
    await using rig = await AppRig.start();
    const pieces = [...INPUT].map((character) => new TextEncoder().encode(character));
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    expect(await (await rig.post(body)).json()).toMatchObject({ message: "hello" });
  });

  test("keeps every character on its way into the log", async () => {
    await using rig = await AppRig.start();
    const input = 'a\u2028b\u0000c\ud800d\u{1F9C0}e\r\n\u0085 "\\/';
    await rig.post(JSON.stringify({ input }));
    expect((await rig.client.read()).transcript[0]).toMatchObject({ kind: "user", text: input });
  });
});

describe("an invocation id", () => {
  test.each([["a%20b"], ["a%2Fb"], ["%F0%9F%A7%80"], ["a".repeat(201)], ["a:b"], ["%00"]])(
    "like %s is refused",
    async (id) => {
      await using rig = await AppRig.start();
      const problem = await expectProblem(await rig.post(INPUT, JSON_TYPE, id), 400, "invalid-request");
      expect(problem.detail).toStartWith("The path is not valid: ");
      const response = await rig.fetch(`/api/v1/agent/invocations/${id}`, { method: "DELETE" });
      await expectProblem(response, 400, "invalid-request");
      expect(rig.log.length).toBe(0);
    },
  );

  test("that clients take for a folder is refused, others with dots are not", () => {
    const taken = [".", "..", "...", ".a", "..a", "a."].filter((id) => publicId.safeParse(id).success);
    expect(taken).toEqual(["...", ".a", "..a", "a."]);
  });

  test("may have up to 200 of the characters that need no escape", async () => {
    await using rig = await AppRig.start();
    expect((await rig.post(INPUT, JSON_TYPE, "aZ09._~-".repeat(25))).status).toBe(200);
  });
});

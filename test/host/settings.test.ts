import { describe, expect, test } from "bun:test";
import { parseConfig } from "../../src/host/config.ts";
import type { RawOptions } from "../../src/host/usage.ts";

/** Values as they would come from flags: `maxTokens` from `--max-tokens`. */
function flags(values: Readonly<Record<string, unknown>>): RawOptions {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      { value, source: `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` },
    ]),
  );
}

const config = (values: Readonly<Record<string, unknown>>) => parseConfig(flags(values), {});

describe("a value", () => {
  test.each([
    ["temperature", "0.5", { temperature: 0.5 }],
    ["temperature", ".5", { temperature: 0.5 }],
    ["temperature", 0.5, { temperature: 0.5 }],
    ["maxTokens", "512", { maxTokens: 512 }],
    ["maxTokens", 512, { maxTokens: 512 }],
    ["stop", "END", { stop: ["END"] }],
    ["stop", ["END", "\n\n"], { stop: ["END", "\n\n"] }],
    ["reasoningEffort", "high", { reasoningEffort: "high" }],
    ["extraBody", '{"top_k":20}', { extraBody: { top_k: 20 } }],
    ["extraBody", { top_k: 20 }, { extraBody: { top_k: 20 } }],
  ])("of %s may be %j", (name, value, call) => {
    expect(config({ [name]: value }).call).toEqual(call);
  });

  test("of a workspace is a folder, whatever stands in the way of it", () => {
    for (const workspace of [import.meta.path, `${import.meta.path}/below`, "x".repeat(5_000)]) {
      expect(() => config({ workspace })).toThrow(/is not a folder/);
    }
  });

  test("of -0 is 0, for the log takes no -0", () => {
    for (const temperature of ["-0", "-0.0", -0]) {
      expect(Object.is(config({ temperature }).call.temperature, 0)).toBe(true);
    }
    expect(config({ extraBody: '{"a":[-0]}' }).call.extraBody).toEqual({ a: [0] });
  });

  test("of time is in seconds, and kept in whole milliseconds", () => {
    const times = { connectTimeout: "1.5", idleTimeout: 2, requestTimeout: "0.001", toolTimeout: "3" };
    expect(
      config({ ...times, provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1/v1" }),
    ).toMatchObject({
      connection: { connectTimeoutMs: 1500, idleTimeoutMs: 2000, requestTimeoutMs: 1 },
      toolTimeoutMs: 3000,
    });
  });

  const WRONG: ReadonlyArray<readonly [string, unknown, string]> = [
    ["temperature", "-1", '"-1": it must be from 0 to 2'],
    ["temperature", "2.1", '"2.1": it must be from 0 to 2'],
    ["temperature", "warm", '"warm": it must be a number'],
    ["temperature", null, "null: it must be a number"],
    ["temperature", true, "true: it must be a number"],
    ["temperature", Number.POSITIVE_INFINITY, "Infinity: it must be a number"],
    ["temperature", "0x1", '"0x1": it must be a number'],
    ["temperature", " 1", '" 1": it must be a number'],
    ["maxTokens", "0", '"0": it must be from 1 to 10000000'],
    ["maxTokens", 1.5, "1.5: it must be a whole number"],
    ["retries", "11", '"11": it must be from 0 to 10'],
    ["at", "-1", '"-1": it must be from 0 to'],
    ["model", 5, "5: it must be a text"],
    ["model", ["a"], "an array: it must be a text"],
    ["model", { name: "a" }, "an object: it must be a text"],
    ["stop", "", '"": it is empty'],
    ["stop", ["END", ""], '"": it is empty'],
    ["stop", ["END", 5], "5: it must be a text"],
    ["stop", [], "an array: it is empty"],
    ["stop", null, "null: it must be a text"],
    ["extraBody", "[1]", '"[1]": it must be a JSON object'],
    ["extraBody", '{"a":1', "it must be a JSON object"],
    ["extraBody", '{"a":1e999}', "it must be a JSON object"],
    ["extraBody", [1], "an array: it must be a JSON object"],
    ["extraBody", { stream: false }, "an object: it must not hold model, messages or stream"],
    ["baseUrl", "http://h/v1?a=1", "it must end before ? and #"],
    ["baseUrl", "http://u:p@h/v1", "it must not hold a user or a password"],
    ["sessionDb", "a\0b", "it must be a path"],
    ["listen", "unix:", '"unix:": it must be unix:PATH'],
    ["listen", "/run/holdfast.sock", "it must be unix:PATH"],
  ];
  test.each(WRONG)("of %s cannot be %p", (name, value, message) => {
    expect(() => config({ [name]: value })).toThrow(message);
  });

  test("that is a book is told by its beginning", () => {
    const extraBody = { value: "{ ".repeat(50_000), source: "--extra-body" };
    expect(() => parseConfig({ extraBody }, {})).toThrow(
      /^--extra-body cannot be .{200,250}…": it must be a JSON/,
    );
  });

  test("that cannot be used is told with where it came from", () => {
    expect(() => config({ maxTokens: "x" })).toThrow(/^--max-tokens cannot be "x"/);
    expect(() => parseConfig({ port: { value: "x", source: "HOLDFAST_PORT" } }, {})).toThrow(
      /^HOLDFAST_PORT cannot be "x"/,
    );
  });
});

describe("options that belong together", () => {
  test("--at needs --fork-from", () => {
    expect(() => config({ at: "9" })).toThrow("--at says where to fork, and --fork-from is missing");
    expect(config({ forkFrom: "a", at: "9" })).toMatchObject({ forkFrom: { sessionId: "a", boundary: 9 } });
  });

  test("a fork is no session of the same id, and has a new id unless one is given", () => {
    expect(() => config({ forkFrom: "a", sessionId: "a" })).toThrow(
      "--fork-from and --session-id name the same session",
    );
    expect(config({ forkFrom: "a" }).sessionId).toBeUndefined();
    expect(config({}).sessionId).toBe("default");
  });

  test("the model is one of the provider's, and the source is told", () => {
    const model = { value: "gpt", source: "HOLDFAST_MODEL" };
    expect(() => parseConfig({ model }, {})).toThrow(
      'HOLDFAST_MODEL names "gpt", which the provider demo does not have',
    );
  });
});

/** Each way to name a store and an address, in the order of who wins. */
const PLACES = ["--", "HOLDFAST_", '"file" in '] as const;

describe("of two options that say the same", () => {
  const PAIRS = [
    ["sessionDb", "s.db", "sessionDir", "logs"],
    ["port", "0", "listen", "unix:/x"],
    ["host", "localhost", "listen", "unix:/x"],
  ] as const;
  test.each(PAIRS)(
    "%s %s and %s %s, a flag wins over a variable, and that over the file",
    (a, one, b, two) => {
      for (const [rankA, placeA] of PLACES.entries()) {
        for (const [rankB, placeB] of PLACES.entries()) {
          const raw = {
            [a]: { value: one, source: `${placeA}a` },
            [b]: { value: two, source: `${placeB}b` },
          };
          if (rankA === rankB) {
            expect(() => parseConfig(raw, {})).toThrow(/ each (say|name) /);
            continue;
          }
          const { sessionDb, sessionDir, listen } = parseConfig(raw, {});
          const winner = rankA < rankB ? a : b;
          expect({ sessionDb, sessionDir, listen: listen.kind }).toEqual({
            sessionDb: winner === "sessionDb" ? one : undefined,
            sessionDir: winner === "sessionDir" ? two : undefined,
            listen: winner === "listen" ? "unix" : "tcp",
          });
        }
      }
    },
  );

  test("an empty variable says nothing", () => {
    const raw = {
      listen: { value: "", source: "HOLDFAST_LISTEN" },
      port: { value: "0", source: '"port" in x.json' },
    };
    expect(parseConfig(raw, {}).listen).toEqual({ kind: "tcp", host: "127.0.0.1", port: 0 });
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { KnownSecrets } from "../../src/cli/sessions/exchange/redact/known-secrets.ts";
import { RedactedRecords } from "../../src/cli/sessions/exchange/redact/redacted-records.ts";
import { MASK, Redactor } from "../../src/cli/sessions/exchange/redact/redactor.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { textDelta, toEvents } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

// Put together here, so that no scanner takes this file for a leak.
const TAIL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
const KEY = `sk-ant-api03-${TAIL}`;
const PEM = `-----BEGIN ${"PRIVATE KEY"}-----\n${"aB3dE5xY".repeat(8)}\n${"Zz9yX8".repeat(10)}\n-----END ${"PRIVATE KEY"}-----`;

/** What is masked in a text, where the others of a session were looked at first. */
function masked(text: string, ...others: readonly string[]): string {
  const secrets = new KnownSecrets();
  const redactor = new Redactor([]);
  const learner = redactor.learning(secrets);
  for (const other of [text, ...others]) learner.text(other);
  redactor.know(secrets);
  return redactor.text(text);
}

describe("a secret that was found once is masked", () => {
  test.each([
    ["without its prefix", `My key is ${KEY}.`, `search for “${TAIL}”`, `search for “${MASK}”`],
    ["in JSON, without a part of its prefix", KEY, `{"text":"api03-${TAIL}"}`, `{"text":"${MASK}"}`],
    [
      "where nothing tells of it",
      "password = correcthorsebattery9",
      "try correcthorsebattery9 again",
      `try ${MASK} again`,
    ],
    [
      "before the end of a sentence",
      "the password: hunter22hunter.",
      "hunter22hunter, or not",
      `${MASK}, or not`,
    ],
    [
      "also of letters alone, as a word",
      "mysql -psecretpass",
      "secretpass, secretpasses",
      `${MASK}, secretpasses`,
    ],
    [
      "with escapes",
      '{"db_pass": "s3cr3t\\"pw!"}',
      'a s3cr3t"pw! b s3cr3t%22pw! c s3cr3t\\u0022pw!',
      `a ${MASK} b ${MASK} c ${MASK}`,
    ],
    ["as base64", '{"db_pass": "s3cr3tpw!"}', `data: ${btoa("s3cr3tpw!")}`, `data: ${MASK}`],
    [
      "as the password of basic credentials",
      `Authorization: Basic ${btoa("admin-user:hunter2hunter2")}`,
      "hunter2hunter2",
      MASK,
    ],
    ["as a line of a private key", PEM, `the line ${"Zz9yX8".repeat(10)} of it`, `the line ${MASK} of it`],
  ])("%s", (_, found, text, shown) => {
    expect(masked(text, found)).toBe(shown);
    expect(masked(text)).not.toBe(shown);
  });

  test.each([
    ["a short one", "password=test12", "test12"],
    ["a common word", "password: development", "development"],
    [
      "a name of code",
      "{ password: userPassword, apiKey: user.apiKeyValue }",
      "userPassword, user.apiKeyValue",
    ],
    ["a line", "password: '------------'", "------------"],
    ["a path", "GOOGLE_CREDENTIALS=/home/me/key.json", "/home/me/key.json"],
    ["part of a longer word", "password = battery9", "mybattery9s"],
    ["what was masked before", `password: "${MASK} of it"`, `${MASK} of it`],
  ])("but not %s", (_, found, text) => {
    expect(masked(text, found)).toBe(text);
  });

  test("wherever it stands in a text, among any others", () => {
    const value = fc.stringMatching(/^[a-z0-9]{7,19}$/).map((text) => `${text}7Q`);
    const piece = fc.oneof(value, fc.string({ maxLength: 9 }), fc.constant("\ud83e"));
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 6 }),
        fc.array(piece),
        fc.nat(),
        (values, pieces, at) => {
          const secrets = new KnownSecrets();
          for (const one of values) secrets.add(one, "quoted");
          const wanted = values[at % values.length] ?? "";
          const text = [...pieces, ` ${wanted} `, ...pieces].join("");
          const found = [...secrets.find(text)].map(({ start, end }) => text.slice(start, end));
          expect(found).toContain(wanted);
          for (const one of found) expect(secrets.find(` ${one} `).next().done).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test("in a log a secret is masked before the event that tells of it, and in pieces that were streamed", () => {
  const at = { turn: 1, step: 1 };
  const title = (text: string): EventDraft => ({ type: "session/title", data: { title: text } });
  const events = toEvents([
    title(`It was ${TAIL}`),
    title("Nothing is here"),
    ...(`So ${TAIL}!`.match(/.{1,7}/g) ?? []).map((piece) => textDelta(at, piece)),
    title(KEY),
  ]);
  const redactor = new Redactor([]);
  const secrets = new KnownSecrets();
  const pass = (reader: Redactor) => {
    const records = new RedactedRecords(reader);
    return [...recordsOf(events).flatMap((record) => [...records.take(record)]), ...records.end()];
  };
  pass(redactor.learning(secrets));
  redactor.know(secrets);
  const shown = pass(redactor).map(({ text }) => text);
  expect(shown.map((_, seq) => seq)).toEqual(events.map(({ seq }) => seq));
  expect(shown[0]).toContain(`"It was ${MASK}"`);
  expect(shown[1]).toBe(JSON.stringify(events[1]));
  expect(shown.join("")).not.toContain("nopqr");
  expect(redactor.masked).toBe(3);
});

test("more secrets than are kept are told, and kept memory is bounded", () => {
  const secrets = new KnownSecrets();
  for (let k = 0; k < 30_000; k += 1) secrets.add(`pass-${k}-${"x7".repeat(k % 40)}`, "quoted");
  expect(secrets.isFull).toBe(true);
  expect(secrets.size).toBeLessThan(16 * 1024 * 1024);
});

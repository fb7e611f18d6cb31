import { describe, expect, test } from "bun:test";
import { RedactedRecords } from "../../src/cli/sessions/exchange/redact/redacted-records.ts";
import { MASK, Redactor } from "../../src/cli/sessions/exchange/redact/redactor.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { toEvents } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

// Put together here, so that no scanner takes this file for a leak.
const key = (start: string, length = 40) => start + "aB3dE5".repeat(20).slice(0, length);

const SECRETS: readonly (readonly [name: string, before: string, secret: string, after: string])[] = [
  ["an OpenAI key", "key ", key("sk-proj-"), "."],
  ["an Anthropic key", "", key("sk-ant-api03-"), " is it"],
  ["a GitHub token", "push with ", key("ghp_", 36), "\n"],
  ["a fine-grained GitHub token", "", key("github_pat_"), ""],
  ["a GitLab token", "", key("glpat-", 20), ""],
  ["an AWS key", "id=", `AKIA${"IOSFODNN7EXAMPLE"}`, ","],
  ["a Google key", "", key("AIza", 35), ""],
  ["a Slack token", "", key("xoxb-", 30), ""],
  ["a Stripe key", "", key("sk_live_", 24), ""],
  ["an npm token", "", key("npm_", 36), ""],
  ["a Hugging Face token", "", key("hf_", 34), ""],
  ["a JSON Web Token", "see ", `${key("eyJ", 20)}.${key("eyJ", 30)}.${key("", 40)}`, ""],
  ["a bearer token", "Authorization: Bearer ", key("", 24), ""],
  ["basic credentials", "authorization: basic ", "dXNlcjpwYXNz", ""],
  ["the password of a URL", "postgres://app:", "hunter2!x", "@db/prod"],
  ["a variable of an environment", "DB_PASSWORD=", "correct-horse", "\nNEXT=1"],
  ["a quoted variable", "export MY_TOKEN='", key("", 10), "'"],
  ["a flag", "deploy --api-key ", key("", 10), " --now"],
  ["the password of a command", "curl -u me:", "pa55", " http://x"],
  ["a login in a file", "machine x login me password ", "pa55", "\nmachine y"],
  ["a cookie", "Cookie: sid=", key("", 12), '"'],
  ["a token of an npm configuration", "//registry.npmjs.org/:_authToken=", key("", 30), ""],
  ["a connection string", "AccountName=x;AccountKey=", key("", 44), ";E=1"],
  ["a member of JSON with a short name", '{"db_pass": "', "s3cr3tpw!", '"}'],
  ["a short name in code", "dbPass: '", "hunter2", "'"],
  ["a password behind a letter", "mysqldump -h db -P 3306 -p", "secretpass", " app"],
  ["a password behind a letter and a space", "docker login -u me -p ", "pa55word", " x.example"],
  ["a password of SQL", "ALTER USER me IDENTIFIED BY '", "pa55", "';"],
  ["a flag with a longer name", "deploy --db-password ", "hunter2", " --now"],
  ["a value with quotes in it", '{"password": "', 'a\\"b c\\\\', '"} rest'],
  ["a member of JSON", '{"api_key": "', "some words", '"}'],
  ["a member of JSON in a text", '{\\"client_secret\\":\\"', "abcdef", '\\"}'],
  [
    "a private key",
    "cat id\n",
    `-----BEGIN OPENSSH ${"PRIVATE KEY"}-----\nabc\n-----END OPENSSH ${"PRIVATE KEY"}-----`,
    "\n",
  ],
  ["a private key that is cut off", "", `-----BEGIN ${"PRIVATE KEY"}-----\nabc\ndef`, ""],
];

describe("a mask", () => {
  test.each(SECRETS)("hides %s and nothing else", (_, before, secret, after) => {
    const redactor = new Redactor([]);
    expect(redactor.text(before + secret + after)).toBe(before + MASK + after);
    expect(redactor.masked).toBe(1);
    // What was masked is not masked again.
    expect(redactor.text(before + MASK + after)).toBe(before + MASK + after);
    expect(redactor.masked).toBe(1);
  });

  test.each([
    "Read the bearer of bad news, and the basic rules.",
    "https://example.com:8080/a@b and user@example.com",
    "sk-short, sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "inputTokens: 12345678, the token count, max_tokens: 128000, MAX_TOKENS=4096",
    "interface A { password: string; apiKey?: string } const secret = process.env.SECRET ?? getSecret(1)",
    "import { password } from 'x'; password: '', secret: null, secret: z.string(), PWD=/home/x",
    "550e8400-e29b-41d4-a716-446655440000 toolu_01A09q90qw90lq917835lq9 call_abcdefghijklmnopqrstuvwx1234",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "/usr/local/share/very/long/path/to/some/file.ts, sk-learn-contrib-packages, docker run -u 1000:1000",
    "docker run -p 3306:3306 mysql, mysql -u root -p < dump.sql, kubectl exec mysql-0 -- mysql -P 3306",
    'tests_pass: true, "first_pass": "all of it", compass: north-east, TESTS_PASSED=1234, pass: "all tests"',
    `grep '-----BEGIN ${"PRIVATE KEY"}-----' finds keys. SECRET_KEY=$SECRET, "Authorization: Bearer $TOKEN"`,
  ])("leaves a text without secrets: %s", (text) => {
    const redactor = new Redactor([]);
    expect(redactor.text(text)).toBe(text);
    expect(redactor.masked).toBe(0);
  });

  test("of given patterns hides each place, and no empty one; a text that is in two is one place", () => {
    const redactor = new Redactor(["ACME-\\d+", "x*", "-1"]);
    expect(redactor.text("ACME-1, ACME-22 xx")).toBe(`${MASK}, ${MASK} ${MASK}`);
    expect(redactor.masked).toBe(3);
    expect(() => new Redactor(["("])).toThrow(/regular expression/);
  });

  test("in JSON keeps its shape, all other bytes, the words of the format, and what names apart", () => {
    const redactor = new Redactor(["message|result|call-\\d|acme|subagent"]);
    const secret = key("sk-");
    const json = `{ "type":"acme/result", "seq": 12345678901234567890, "seq":7,
      "data":[{"toolCallId":"call-1","kind":"tool-result"},{"toolCallId":"call-2"},{"callId":"call-1"}],
      "kind":"acme","dbPassword":"short","token":"ab","token":"${secret.slice(3, 30)}",
      "hash":"9f86d081884c7d659a2feaa0c55ad015","${secret}":null,"acme":1,"a":"${secret}","a":"\\ud800" }`;
    expect(redactor.json(json)).toBe(`{ "type":"acme/result", "seq": 12345678901234567890, "seq":7,
      "data":[{"toolCallId":"${MASK}-1","kind":"tool-result"},{"toolCallId":"${MASK}-2"},{"callId":"${MASK}-1"}],
      "kind":"${MASK}","dbPassword":"${MASK}","token":"ab","token":"${MASK}",
      "hash":"9f86d081884c7d659a2feaa0c55ad015","${MASK}-3":null,"${MASK}-4":1,"a":"${MASK}","a":"\\ud800" }`);
    expect(redactor.masked).toBe(9);
  });

  test("stands for what is escaped or packed in a text, too", () => {
    const secret = key("sk-");
    const inJson = JSON.stringify(JSON.stringify({ note: 'say "ACME 7"', password: 'a"b\\c' }));
    const base64 = Buffer.from(`token: ${secret}!`).toString("base64");
    const redactor = new Redactor(['"ACME \\d"', "[0-9a-f]{8}"]);
    expect(redactor.text(inJson)).toBe(
      JSON.stringify(JSON.stringify({ note: "NOTE", password: "WORD" }))
        .replace("NOTE", `say ${MASK}`)
        .replace("WORD", MASK),
    );
    expect(redactor.text(`a ${base64}, b`)).toBe(`a ${MASK}, b`);
    expect(redactor.text(`?k=${secret.replaceAll("-", "%2D")}&n=1`)).toBe(`?k=${MASK}&n=1`);
    expect(redactor.text(`\\u0073\\u006b${secret.slice(2)}\\n`)).toBe(`${MASK}\\n`);
    // Bytes that only look like text that is packed.
    expect(redactor.text(Buffer.alloc(60, 7).toString("base64"))).not.toContain(MASK);
  });

  test.each([["(a+)+$"], ["(\\w+\\s?)*@"], ["(?:x|xx)+y"]])(
    "is not looked for with %s, which takes years on some texts",
    (pattern) => {
      expect(() => new Redactor([pattern])).toThrow(/takes too long/);
    },
  );

  test("is found behind a text that was made to slow the search down", () => {
    const secret = key("ghp_", 36);
    for (const piece of [
      "-eyJaaaaaa",
      "-SG.aaaaaaaaaaaaaaaaaaa",
      "bearer=",
      "\\\\",
      "%41",
      "mysql -u ",
      "docker login -",
      "_pass",
      `-----BEGIN ${"PRIVATE KEY"}-----`,
    ]) {
      const before = process.cpuUsage();
      expect(new Redactor([]).text(`${piece.repeat(20_000)} ${secret}`)).toEndWith(MASK);
      expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
    }
  });
});

test("events stay readable, each of its type and in its place, whatever a pattern finds", () => {
  const redacted = new RedactedRecords(new Redactor(["."]));
  const events = toEvents(allEventDrafts());
  const shown = [...recordsOf(events).flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
  const read = shown.map(({ text }) => decodeRecord(text, {}).record);
  expect(read.map(({ type, seq, time }) => [type, seq, time])).toEqual(
    events.map(({ type, seq, time }) => [type, seq, time]),
  );
});

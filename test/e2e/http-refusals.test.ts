import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { HostLab } from "../fixtures/host-lab.ts";
import { expectProblem } from "../fixtures/problem.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const TOKEN = "a token that nobody guesses";
const AUTHORISED = { authorization: `Bearer ${TOKEN}` };
const JSON_TYPE = { ...AUTHORISED, "content-type": "application/json" };
const SESSION = "/api/v1/sessions/default";
const INVOCATION = "/api/v1/agent/invocations/a";
const SAY = '{"input": "hello"}';

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const refusals: Record<string, Refusal> = {
  "no token": { status: 401, code: "unauthorised", path: "/healthz", headers: {} },
  "a wrong token": {
    status: 401,
    code: "unauthorised",
    path: `${SESSION}/events`,
    headers: { authorization: "Bearer guess", accept: "text/event-stream" },
  },
  "a foreign Host": {
    status: 403,
    code: "foreign-host",
    path: SESSION,
    headers: { ...AUTHORISED, host: "evil.example" },
  },
  "a foreign Origin": {
    status: 403,
    code: "foreign-origin",
    path: `${SESSION}/events`,
    headers: { ...AUTHORISED, origin: "http://evil.example", accept: "text/event-stream" },
  },
  "an unknown route": { status: 404, code: "unknown-route", path: "/api/v1/agents" },
  "another session": { status: 404, code: "not-found", path: "/api/v1/sessions/other" },
  "the events of another session": { status: 404, code: "not-found", path: "/api/v1/sessions/other/events" },
  "an invocation that is not there": {
    status: 404,
    code: "invocation-unknown",
    method: "DELETE",
    path: INVOCATION,
  },
  "a wrong method": { status: 405, code: "method-not-allowed", method: "PUT", path: INVOCATION, body: SAY },
  "a fork of nothing": {
    ...{ status: 409, code: "fork-boundary", method: "POST", path: `${SESSION}/forks` },
    ...{ headers: JSON_TYPE, body: "{}" },
  },
  "a seq that is not there": { status: 400, code: "invalid-request", path: `${SESSION}/events?after=7` },
  "bad JSON": { ...post(400, "invalid-request"), body: '{"input": ' },
  "a wrong type": { ...post(400, "invalid-request"), body: '{"input": 7}' },
  "an unknown field": { ...post(400, "invalid-request"), body: '{"input": "x", "temperature": 1}' },
  "nesting without an end": {
    ...post(400, "invalid-request"),
    body: `{"input": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  },
  "too large a body": { ...post(413, "too-large"), body: " ".repeat(9 * 1024 * 1024) },
  "another content type": {
    ...post(415, "unsupported-media-type"),
    headers: { ...AUTHORISED, "content-type": "text/plain" },
    body: SAY,
  },
  "a model that is not there": {
    ...post(503, "no-route"),
    body: '{"input": "x", "route": {"provider": "x", "model": "y"}}',
  },
};

function post(status: number, code: string): Refusal {
  return { status, code, method: "POST", path: INVOCATION, headers: JSON_TYPE };
}

describe("a request that is refused", () => {
  test("gets a problem with its code, whatever it accepts, and nothing of the machine", async () => {
    await using lab = await HostLab.create();
    const host = await lab.start({ env: { HOLDFAST_TOKEN: TOKEN } });
    for (const [name, refusal] of Object.entries(refusals)) {
      const { status, code, method = "GET", path, headers = AUTHORISED, body } = refusal;
      for (const accept of [{}, { accept: "text/event-stream" }]) {
        const init = { method, headers: { ...headers, ...accept }, ...(body === undefined ? {} : { body }) };
        const response = await fetch(host.url + path, init);
        const text = await response.clone().text();
        expect({ name, status: response.status }).toEqual({ name, status });
        await expectProblem(response, status, code);
        expect(text).not.toContain(lab.folder.path);
        expect(text).not.toContain(TOKEN);
      }
    }
    expect(lab.server.requests).toEqual([]);
    const session = await fetch(host.url + SESSION, { headers: AUTHORISED });
    expect(await session.json()).toMatchObject({ nextSeq: 0 });
    expect(host.stderr.text).not.toContain(TOKEN);
  });
});

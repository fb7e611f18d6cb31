import { describe, expect, test } from "bun:test";
import { ProviderError } from "../../src/agent/provider.ts";
import { PROBLEM_KINDS } from "../../src/routes/problem.ts";
import { STORE_ERROR_TABLE, StorageFailedError, StorageFullError } from "../../src/store/errors.ts";
import { AppRig, failingProvider, HeldProvider } from "../fixtures/app-rig.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { expectProblem } from "../fixtures/problem.ts";

const SAY = JSON.stringify({ input: "say hello" });
const JSON_TYPE = { "content-type": "application/json" };
const SECRET = "/home/somebody/.holdfast/agent.db";

describe("what is not there", () => {
  test.each([
    "/",
    "/nothing",
    "/healthz/more",
    "/api/v1",
    "/api/v1/sessions",
    "/api/v1/sessions/",
    "/api/v1/sessions/default/events/1",
    "/api/v1/sessions/default/forks/1",
    "/api/v1/agent/invocations/",
    "/api/v2/sessions/default",
    "/favicon.ico",
  ])("at %s is an unknown route", async (path) => {
    await using rig = await AppRig.start();
    for (const method of ["GET", "POST", "DELETE"]) {
      await expectProblem(await rig.fetch(path, { method }), 404, "unknown-route");
    }
  });

  test.each([
    ["POST", "/healthz", "GET"],
    ["DELETE", "/readyz", "GET"],
    ["PUT", "/version", "GET"],
    ["POST", "/openapi.json", "GET"],
    ["POST", "/api/v1/sessions/default", "GET"],
    ["DELETE", "/api/v1/sessions/default", "GET"],
    ["OPTIONS", "/api/v1/sessions/default", "GET"],
    ["POST", "/api/v1/sessions/default/events", "GET"],
    ["GET", "/api/v1/sessions/default/forks", "POST"],
    ["GET", "/api/v1/agent/invocations/a", "POST, DELETE"],
    ["PUT", "/api/v1/agent/invocations/a", "POST, DELETE"],
    ["PATCH", "/api/v1/agent/invocations/a", "POST, DELETE"],
    ["POST", "/healthz/", "GET"],
    ["GET", "/api/v1/agent/invocations/a/", "POST, DELETE"],
  ])("is told for %s %s with the methods that are", async (method, path, allow) => {
    await using rig = await AppRig.start();
    const response = await rig.fetch(path, { method });
    expect(response.headers.get("allow")).toBe(allow);
    await expectProblem(response, 405, "method-not-allowed");
  });
});

describe("a request with a Host header that makes no URL", () => {
  test.each(["localhost:99999", "localhost:", "LOCALHOST:0000000080", "[::1]:70000"])(
    "%s is answered like any other",
    async (host) => {
      await using rig = await AppRig.start();
      const headers = { host };
      expect((await rig.fetch("/healthz", { headers })).status).toBe(200);
      await expectProblem(await rig.fetch("/nothing?a=/b", { headers }), 404, "unknown-route");
      const response = await rig.fetch("/healthz?a=/b", { method: "POST", headers });
      await expectProblem(response, 405, "method-not-allowed");
      expect((await rig.post(SAY, { ...JSON_TYPE, host })).status).toBe(200);
      expect(rig.reports).toEqual([]);
    },
  );
});

describe("what goes wrong inside", () => {
  test("by a defect is told without a word of it, and reported with all of it", async () => {
    const error = new TypeError(`cannot read ${SECRET}`);
    await using rig = await AppRig.start({ provider: failingProvider(error) });
    const response = await rig.post(SAY);
    const text = await response.clone().text();
    const problem = await expectProblem(response, 500, "internal");
    expect(problem.hint).toBeUndefined();
    expect(text).not.toContain("somebody");
    expect(text).not.toContain("TypeError");
    expect(rig.reports).toEqual([error]);
    expect((await rig.client.read()).text).not.toContain("somebody");
  });

  test.each([
    [500, "storage-failed", new StorageFailedError(`EIO at ${SECRET}`, { place: { path: SECRET } })],
    [507, "storage-full", new StorageFullError({ path: SECRET }, new Error(`ENOSPC ${SECRET}`))],
  ])("in the store is told with its code alone: %d %s", async (status, code, error) => {
    await using rig = await AppRig.start();
    rig.faults.failOnce(ofType("user/message"), error);
    const response = await rig.post(SAY);
    const text = await response.clone().text();
    await expectProblem(response, status, code);
    expect(text).not.toContain("somebody");
    expect(rig.reports).toEqual([error]);
    // The store works again: so does the next invocation.
    expect((await rig.client.invoke("say again")).body).toMatchObject({ message: "again" });
  });

  test.each([
    ["provider-auth", 502],
    ["provider-rate-limited", 502],
    ["provider-rejected", 502],
    ["provider-unavailable", 502],
    ["provider-unreachable", 502],
    ["provider-bad-response", 502],
    ["provider-timeout", 504],
  ] as const)("at the provider is told with its message: %s", async (code, status) => {
    const error = new ProviderError(code, "The model said no", { hint: "Ask nicely.", retryable: false });
    await using rig = await AppRig.start({ provider: failingProvider(error) });
    const problem = await expectProblem(await rig.post(SAY), status, code);
    expect(problem).toMatchObject({ detail: "The model said no", hint: "Ask nicely." });
    expect((await rig.client.read()).transcript.at(-1)).toMatchObject({
      kind: "turn-end",
      reason: { kind: "error", error: { code } },
    });
  });

  test("while a problem is told is told as a defect too, and not by a page that shows the code", async () => {
    const error = new TypeError(`cannot read ${SECRET}`);
    await using rig = await AppRig.start({ provider: failingProvider(new Error("first")) });
    const told: unknown[] = [];
    rig.reports.push = (report) => {
      told.push(report);
      if (told.length === 1) throw error;
      return 0;
    };
    const response = await rig.post(SAY);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await response.clone().text();
    await expectProblem(response, 500, "internal");
    expect(text).not.toContain("somebody");
    expect(told[1]).toBe(error);
  });

  test("while the Host shuts down is told as closing", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const running = rig.post(SAY);
    await provider.reached;
    await rig.queue.close();
    await expectProblem(await running, 503, "closing");
    await expectProblem(await rig.post(SAY), 503, "closing");
  });
});

describe("the table of problems", () => {
  test("has every error of the store with the status of the store's own table", () => {
    for (const [code, { status, title }] of Object.entries(STORE_ERROR_TABLE)) {
      expect(PROBLEM_KINDS[code]).toMatchObject({ status, title });
    }
  });

  test("has only statuses of errors, and a title for each", () => {
    for (const [code, { status, title }] of Object.entries(PROBLEM_KINDS)) {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title).not.toBe("");
    }
  });
});

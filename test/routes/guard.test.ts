import { describe, expect, test } from "bun:test";
import { AppRig, LOOPBACK_HOSTS } from "../fixtures/app-rig.ts";
import { expectProblem } from "../fixtures/problem.ts";

const SAY = JSON.stringify({ input: "say hello" });
const JSON_TYPE = { "content-type": "application/json" };
/** One of every kind, that are there or not. */
const PATHS = [
  ...["/healthz", "/readyz", "/version", "/openapi.json", "/nothing"],
  ...["/api/v1/sessions/default", "/api/v1/sessions/default/events"],
];

describe("a server on loopback", () => {
  test.each(["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.", "", "0.0.0.0"])(
    "refuses a request that is addressed to the host %p",
    async (host) => {
      await using rig = await AppRig.start();
      for (const path of PATHS) {
        await expectProblem(await rig.fetch(path, { headers: { host } }), 403, "foreign-host");
      }
      await expectProblem(await rig.post(SAY, { ...JSON_TYPE, host }), 403, "foreign-host");
      expect(rig.log.length).toBe(0);
    },
  );

  test.each(["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "[::1]:8765"])(
    "takes requests under its name %s, at any port",
    async (host) => {
      await using rig = await AppRig.start();
      expect((await rig.fetch("/healthz", { headers: { host } })).status).toBe(200);
    },
  );

  test.each([
    "null",
    "http://evil.example",
    "https://localhost.evil.example",
    "file://",
    "http://localhost:1",
  ])("refuses a request from a page of %s", async (origin) => {
    await using rig = await AppRig.start();
    for (const path of PATHS) {
      await expectProblem(await rig.fetch(path, { headers: { origin } }), 403, "foreign-origin");
    }
    await expectProblem(await rig.post(SAY, { ...JSON_TYPE, origin }), 403, "foreign-origin");
    const preflight = { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } };
    const response = await rig.fetch("/api/v1/agent/invocations/a", preflight);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    await expectProblem(response, 403, "foreign-origin");
    expect(rig.log.length).toBe(0);
  });

  test("takes requests of its own origin, and those without any", async () => {
    await using rig = await AppRig.start();
    const { host } = new URL(rig.url);
    for (const origin of [`http://${host}`, `https://${host}`]) {
      expect((await rig.post(SAY, { ...JSON_TYPE, origin })).status).toBe(200);
    }
    expect((await rig.post(SAY)).status).toBe(200);
  });
});

test("a server beyond loopback takes requests under any name, but foreign pages' are refused as ever", async () => {
  await using rig = await AppRig.start({ guard: { token: "house key" } });
  const authorization = "Bearer house key";
  const named = await rig.fetch("/healthz", { headers: { host: "my.server.example", authorization } });
  expect(named.status).toBe(200);
  const foreign = await rig.fetch("/healthz", { headers: { origin: "http://evil.example", authorization } });
  await expectProblem(foreign, 403, "foreign-origin");
});

describe("a server with a token", () => {
  const WRONG = [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Bearer wrong",
    "Bearer house keyy",
    "Bearer house ke",
    "Basic house key",
    "house key",
  ];

  test("refuses every request without it, always with the same answer", async () => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS, token: "house key" } });
    const answers = new Set<string>();
    for (const path of PATHS) {
      for (const authorization of WRONG) {
        const response = await rig.fetch(
          path,
          authorization === undefined ? {} : { headers: { authorization } },
        );
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        answers.add(await response.clone().text());
        await expectProblem(response, 401, "unauthorised");
      }
    }
    expect(answers.size).toBe(1);
    expect([...answers].join()).not.toContain("house");
    await expectProblem(await rig.post(SAY), 401, "unauthorised");
    expect(rig.log.length).toBe(0);
  });

  test.each(["Bearer house key", "bearer house key"])("takes requests with %p", async (authorization) => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS, token: "house key" } });
    expect((await rig.post(SAY, { ...JSON_TYPE, authorization })).status).toBe(200);
    expect((await rig.fetch("/healthz", { headers: { authorization } })).status).toBe(200);
  });

  test("does not read a body before the token was seen", async () => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS, token: "house key" } });
    await expectProblem(await rig.post("{", JSON_TYPE), 401, "unauthorised");
  });
});

describe("a browser", () => {
  test.each(["cross-site", "same-site"])("is refused for a page that it calls %s", async (site) => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS } });
    await expectProblem(
      await rig.fetch("/healthz", { headers: { "sec-fetch-site": site } }),
      403,
      "foreign-origin",
    );
  });

  test.each(["same-origin", "none"])("is answered for a page that it calls %s", async (site) => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS } });
    expect((await rig.fetch("/healthz", { headers: { "sec-fetch-site": site } })).status).toBe(200);
  });

  test("is told to guess no type and to give no answer to other origins", async () => {
    await using rig = await AppRig.start({ guard: { hosts: LOOPBACK_HOSTS } });
    for (const path of ["/healthz", `/api/v1/sessions/${rig.log.header.id}`, "/nowhere"]) {
      const { headers } = await rig.fetch(path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    }
  });
});

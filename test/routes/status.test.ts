import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { StorageFullError } from "../../src/store/errors.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import { turnStart } from "../fixtures/event-drafts.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { expectProblem } from "../fixtures/problem.ts";

async function get(rig: AppRig, path: string): Promise<{ status: number; body: unknown }> {
  const response = await rig.fetch(path);
  return { status: response.status, body: await response.json() };
}

describe("health", () => {
  test("is fine as long as the process answers", async () => {
    await using rig = await AppRig.start();
    expect(await get(rig, "/healthz")).toEqual({ status: 200, body: { status: "ok" } });
    rig.beginClosing();
    expect((await get(rig, "/healthz")).status).toBe(200);
  });

  test("does not depend on the store", async () => {
    await using rig = await AppRig.start();
    rig.faults.outage(new StorageFullError({ path: "/secret" }));
    await Promise.allSettled([rig.log.append(turnStart(1))]);
    expect((await get(rig, "/healthz")).status).toBe(200);
  });
});

describe("readiness", () => {
  test("is there when the store takes writes", async () => {
    await using rig = await AppRig.start();
    expect(await get(rig, "/readyz")).toEqual({ status: 200, body: { status: "ready", backend: "memory" } });
  });

  test("is degraded with the failure's code from a failed commit until one works; reads go on", async () => {
    await using rig = await AppRig.start();
    rig.faults.failOnce(ofType("turn/start"), new StorageFullError({ path: "/secret" }));
    await Promise.allSettled([rig.log.append(turnStart(1))]);
    const problem = await expectProblem(await rig.fetch("/readyz"), 503, "storage-full");
    expect(problem.state).toBe("degraded");
    expect(JSON.stringify(problem)).not.toContain("secret");
    expect((await rig.client.read()).nextSeq).toBe(0);
    await rig.log.append(turnStart(1));
    expect((await get(rig, "/readyz")).status).toBe(200);
  });

  test("ends when the Host begins to shut down", async () => {
    await using rig = await AppRig.start();
    rig.beginClosing();
    await expectProblem(await rig.fetch("/readyz"), 503, "closing");
  });
});

test("the version says what runs", async () => {
  await using rig = await AppRig.start();
  expect(await get(rig, "/version")).toEqual({
    status: 200,
    body: { name: "holdfast", version: "1.2.3", bun: "x", platform: "y", sessionFormat: 0 },
  });
});

describe("the OpenAPI document", () => {
  const schemaOrRef = z.looseObject({ type: z.string().optional(), $ref: z.string().optional() });
  const contentSchema = z.record(
    z.string().regex(/^[a-z]+\/[a-z+-]+$/),
    z.looseObject({ schema: schemaOrRef }),
  );
  const operationSchema = z.looseObject({
    summary: z.string().min(1),
    operationId: z.string().min(1),
    parameters: z
      .array(
        z.strictObject({
          name: z.string(),
          in: z.enum(["path", "query", "header"]),
          required: z.boolean(),
          schema: z.looseObject({ type: z.literal("string").optional() }),
        }),
      )
      .optional(),
    requestBody: z.looseObject({ content: contentSchema, required: z.literal(true) }).optional(),
    responses: z.record(
      z.string().regex(/^[1-5]\d\d$/),
      z.looseObject({ description: z.string().min(1), content: contentSchema.optional() }),
    ),
  });
  const documentSchema = z.strictObject({
    openapi: z.string().regex(/^3\.1\.\d$/),
    info: z.looseObject({ title: z.string().min(1), version: z.string().min(1) }),
    paths: z.record(
      z.string().startsWith("/"),
      z.partialRecord(z.enum(["get", "post", "delete"]), operationSchema),
    ),
    components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({ type: z.string() })) }),
  });

  async function read(rig: AppRig) {
    const response = await rig.fetch("/openapi.json");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    return documentSchema.parse(await response.json());
  }

  test("is valid, and names each operation and each path parameter once", async () => {
    await using rig = await AppRig.start();
    const { paths } = await read(rig);
    const ids = new Set<string>();
    for (const [path, operations] of Object.entries(paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
      for (const operation of Object.values(operations)) {
        expect(ids).not.toContain(operation.operationId);
        ids.add(operation.operationId);
        const required = (operation.parameters ?? []).filter((parameter) => parameter.required);
        expect(required.map(({ name, in: place }) => `${place} ${name}`)).toEqual(
          inPath.map((name) => `path ${name}`),
        );
      }
    }
    expect(ids.size).toBeGreaterThan(5);
  });

  test("lists every route of the app", async () => {
    await using rig = await AppRig.start();
    const { paths } = await read(rig);
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = rig.app.routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    expect(described.sort()).toEqual(served.sort());
  });

  test("tells for each route how it may answer, and that errors are problems", async () => {
    await using rig = await AppRig.start();
    const { paths, components } = await read(rig);
    const answers = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => [
        `${method} ${path}`,
        Object.keys(operation.responses).map(Number),
      ]),
    );
    const invocation = "/api/v1/agent/invocations/{invocationId}";
    const session = "/api/v1/sessions/{sessionId}";
    expect(Object.fromEntries(answers)).toEqual({
      "get /healthz": [200, 401, 403, 500],
      "get /readyz": [200, 401, 403, 500, 503],
      "get /version": [200, 401, 403, 500],
      "get /openapi.json": [200, 401, 403, 500],
      [`get ${session}`]: [200, 401, 403, 404, 500],
      [`get ${session}/events`]: [200, 400, 401, 403, 404, 500],
      [`post ${session}/forks`]: [201, 400, 401, 403, 404, 409, 413, 415, 500, 503, 507],
      [`post ${invocation}`]: [200, 400, 401, 403, 409, 413, 415, 500, 502, 503, 504, 507],
      [`delete ${invocation}`]: [202, 400, 401, 403, 404, 500],
    });
    for (const operations of Object.values(paths)) {
      for (const operation of Object.values(operations)) {
        for (const [status, { content }] of Object.entries(operation.responses)) {
          if (Number(status) < 400) continue;
          const schema = content?.["application/problem+json"]?.schema;
          expect(schema?.$ref).toBe("#/components/schemas/Problem");
        }
      }
    }
    expect(components.schemas["Problem"]).toBeDefined();
  });

  test("describes what an invocation takes", async () => {
    await using rig = await AppRig.start();
    const { paths } = await read(rig);
    const body = paths["/api/v1/agent/invocations/{invocationId}"]?.post?.requestBody;
    expect(Object.keys(body?.content ?? {})).toEqual(["application/json"]);
    expect(body?.content["application/json"]?.schema).toMatchObject({
      required: ["input"],
      additionalProperties: false,
      properties: { input: { type: "string" }, route: { required: ["provider", "model"] } },
    });
  });
});

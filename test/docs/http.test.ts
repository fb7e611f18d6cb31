import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { HEARTBEAT_MS } from "../../src/routes/event-stream.ts";
import { PROBLEM_KINDS } from "../../src/routes/problem.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import { codeIn, readDocument, tableWith } from "./markdown.ts";

/* docs/http.md against /openapi.json, and both against the table of problems. */

const page = readDocument("docs/http.md");
const { rows } = tableWith(page, "method and path", "status and answer", "problems");

const MEDIA: Readonly<Record<string, string>> = {
  "application/json": "JSON",
  "application/x-ndjson": "NDJSON",
  "text/event-stream": "event stream",
};

const responseSchema = z.looseObject({ content: z.record(z.string(), z.unknown()).optional() });
const documentSchema = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.record(z.string(), responseSchema) })),
  ),
});
const problemSchema = z.object({
  schema: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
});

interface Described {
  /** Such as `200 JSON or event stream`. */
  readonly answer: string;
  /** Codes by status; none where any code may come. */
  readonly problems: ReadonlyMap<number, readonly string[]>;
}

/** What the OpenAPI document says of each route. */
async function described(): Promise<Map<string, Described>> {
  await using rig = await AppRig.start();
  const { paths } = documentSchema.parse(await (await rig.fetch("/openapi.json")).json());
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => {
      const entries = Object.entries(responses).map(([status, { content = {} }]) => ({
        status: Number(status),
        content,
      }));
      const good = entries
        .filter(({ status }) => status < 400)
        .map(({ status, content }) => {
          const media = Object.keys(content).map((type) => MEDIA[type] ?? type);
          return `${status} ${(media.length === 0 ? ["JSON"] : media).toSorted().join(" or ")}`;
        });
      const problems = entries
        .filter(({ status }) => status >= 400)
        .map(({ status, content }) => {
          const { data } = problemSchema.safeParse(content["application/problem+json"]);
          return [status, data?.schema.properties.code.enum ?? []] as const;
        });
      const name = `${method.toUpperCase()} ${path}`;
      return [name, { answer: good.join(), problems: new Map(problems) }] as const;
    }),
  );
  return new Map(routes);
}

function row(name: string): readonly string[] {
  const found = rows.find(([first]) => (codeIn(first)[0] ?? first) === name);
  if (found === undefined) throw new Error(`docs/http.md says nothing of ${name}`);
  return found;
}

function codesOf(name: string): string[] {
  return codeIn(row(name)[2]);
}

describe("the table of routes and their problems", () => {
  test("has every route of the program, and no other", async () => {
    const routes = rows.flatMap(([first]) => codeIn(first));
    expect(routes.toSorted()).toEqual([...(await described()).keys()].toSorted());
  });

  test("has the answers and the problems of each route", async () => {
    const everyRoute = codesOf("every route");
    for (const [name, { answer, problems }] of await described()) {
      const [, shown = ""] = row(name);
      const [status = "", media = ""] = shown.split(/ (.*)/);
      expect(`${status} ${media.split(" or ").toSorted().join(" or ")}`, name).toBe(answer);
      expect([...codesOf(name), ...everyRoute].toSorted(), name).toEqual(
        [...problems.values()].flat().toSorted(),
      );
      for (const [code, group] of problems) {
        for (const each of group) expect(PROBLEM_KINDS[each]?.status, each).toBe(code);
        // Readiness is told with the code of whatever failed.
        if (group.length === 0) expect(row(name)[2], name).toStartWith(`${code} with the code`);
      }
    }
  });

  test("has, with those that no route gives, every code there is", () => {
    const prose = page.prose.replaceAll(/\s+/g, " ");
    const [, never = ""] = /The table of codes below also has (.*?), which the store knows/.exec(prose) ?? [];
    const named = [...rows.flatMap(([, , problems]) => codeIn(problems)), ...codeIn(never)];
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(PROBLEM_KINDS).toSorted());
    const given = new Set(rows.flatMap(([, , problems]) => codeIn(problems)));
    expect(codeIn(never).filter((code) => given.has(code))).toEqual([]);
  });
});

test("the kinds of events in a stream are those that a stream has", async () => {
  const kinds = tableWith(page, "event", "id", "data").rows.map(([kind]) => codeIn(kind)[0]);
  expect(kinds).toEqual(["event", "provisional", "done", "error"]);
  const { rows: limits } = tableWith(page, "what", "most");
  const [, quiet] = limits.find(([what]) => what === "quiet time of an event stream") ?? [];
  expect(quiet).toStartWith(`${HEARTBEAT_MS / 1_000} seconds`);
});

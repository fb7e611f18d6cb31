import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { EXIT, exitCodeFor } from "../../src/cli/exit-codes.ts";
import { parseConfig } from "../../src/host/config.ts";
import { MAX_BODY } from "../../src/routes/app.ts";
import { PROBLEM_KINDS } from "../../src/routes/problem.ts";
import { STORE_ERROR_TABLE } from "../../src/store/errors.ts";
import { FINDING_SEVERITY } from "../../src/store/finding.ts";
import { HEALTH_LEVELS } from "../../src/store/health/findings.ts";
import { codeIn, type Document, readDocument, type Table, tablesOf, tableWith } from "./markdown.ts";
import { type HelpOption, optionsOf } from "./program-help.ts";
import { Scenario } from "./scenario.ts";

/* The tables of docs/cli.md and docs/http.md say what the program does: no row more, none less. */

const cli = readDocument("docs/cli.md");
const http = readDocument("docs/http.md");

/** What stands below the heading of a command. */
function sectionOf(command: string): Document {
  const [, prose = ""] =
    new RegExp(`^## holdfast ${command}$([\\s\\S]*?)(?=^## )`, "m").exec(cli.prose) ?? [];
  return { ...cli, prose };
}

function flagTable(command: string): Table {
  return tableWith(sectionOf(command), "flag", "variable", "default");
}

function optionIn([flag, variable, fallback]: readonly string[]): HelpOption {
  const [name] = codeIn(variable);
  const [value] = codeIn(fallback);
  return {
    flag: codeIn(flag)[0] ?? "",
    ...(name === undefined ? {} : { variable: name }),
    ...(value === undefined ? {} : { fallback: value }),
  };
}

describe.skipIf(process.platform === "win32")("flags", () => {
  for (const command of [
    "serve",
    "sessions list",
    "sessions show",
    "sessions tail",
    "sessions search",
    "sessions stats",
    "sessions copy",
    "sessions verify",
    "sessions repair",
    "sessions salvage",
    "sessions export",
    "sessions import",
    "sessions backup",
    "sessions fork",
    "sessions rename",
    "sessions delete",
    "sessions prune",
    "sessions compact",
    "doctor",
  ]) {
    test(`of ${command}`, () => {
      const options = optionsOf(command);
      expect(options.length).toBeGreaterThan(2);
      expect(flagTable(command).rows.map(optionIn)).toEqual(options);
    });
  }

  // Commands that run an agent take the flags for it, which stand in the table of serve, beside their own.
  for (const command of ["invoke", "chat"]) {
    test(`of ${command}, where they are not those of an agent`, () => {
      const ofServe = flagTable("serve").rows.map(optionIn);
      const ofAgent = ofServe.slice(
        0,
        1 + ofServe.findIndex(({ flag }) => flag.startsWith("--drain-timeout")),
      );
      const section = sectionOf(command);
      expect(section.prose).toContain("(#holdfast-serve)");
      const own = tablesOf(section).flatMap(({ headers, rows }) => (headers[0] === "flag" ? rows : []));
      const byFlag = (a: HelpOption, b: HelpOption) => (a.flag < b.flag ? -1 : 1);
      expect([...own.map(optionIn), ...ofAgent].toSorted(byFlag)).toEqual(
        optionsOf(command).toSorted(byFlag),
      );
    });
  }
});

test.skipIf(process.platform === "win32")("flags of config are those of serve and its own", () => {
  const own = flagTable("config").rows.map(optionIn);
  expect(optionsOf("config")).toEqual([...own, ...flagTable("serve").rows.map(optionIn)]);
});

test("the bounds of numbers in the flag table are the real ones", () => {
  let checked = 0;
  for (const [cell, , , meaning = ""] of flagTable("serve").rows) {
    const [, least, most] = /\b(\d[\d.]*) to (\d+)\b/.exec(meaning) ?? [];
    if (least === undefined || most === undefined) continue;
    const [flag = ""] = codeIn(cell);
    const source = flag.split(" ")[0] ?? "";
    const name = source.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const parse = (value: number) => () => parseConfig({ [name]: { value: String(value), source } }, {});
    for (const value of [Number(least), Number(most)]) expect(parse(value), `${flag} ${value}`).not.toThrow();
    for (const value of [Number(least) - 1, Number(most) + 1])
      expect(parse(value), `${flag} ${value}`).toThrow();
    checked += 1;
  }
  expect(checked).toBe(12);
});

describe("exit codes", () => {
  const { rows } = tableWith(cli, "code", "meaning", "error codes");

  test("are the program's", () => {
    expect(rows.map(([code]) => Number(code))).toEqual(Object.values(EXIT));
  });

  test("stand for the error codes that are named, all of the store among them", () => {
    const named = new Map(
      rows.flatMap(([exit, , codes]) => codeIn(codes).map((code) => [code, Number(exit)])),
    );
    for (const [code, exit] of named) expect(exitCodeFor(code), code).toBe(exit);
    for (const [code, { exit }] of Object.entries(STORE_ERROR_TABLE))
      expect(named.get(code), code).toBe(exit);
  });
});

test("what doctor finds is what is said, with its level", () => {
  const { rows } = tableWith(sectionOf("doctor"), "code", "level");
  const shown = rows.map(([code, level]) => [codeIn(code)[0] ?? "", level]);
  expect(shown).toEqual(Object.entries(HEALTH_LEVELS));
});

test("findings of verify are those of the program, with their severity", () => {
  const { rows } = tableWith(cli, "code", "severity", "meaning");
  const shown = rows.map(([code, severity = ""]) => [codeIn(code)[0] ?? "", severity]);
  expect(shown).toEqual(Object.entries(FINDING_SEVERITY));
});

test("problem codes are those of the program, with their status", () => {
  const { rows } = tableWith(http, "code", "status", "meaning");
  const shown = rows.map(([code, status]) => [codeIn(code)[0] ?? "", Number(status)] as const);
  const actual = Object.entries(PROBLEM_KINDS).map(([code, { status }]) => [code, status] as const);
  const byCode = (a: readonly [string, number], b: readonly [string, number]) => (a[0] < b[0] ? -1 : 1);
  expect(shown.toSorted(byCode)).toEqual(actual.toSorted(byCode));
});

test("the largest body is what is said", () => {
  const { rows } = tableWith(http, "what", "most");
  const [, most = ""] = rows.find(([what]) => what === "request body") ?? [];
  expect(most).toStartWith(`${MAX_BODY / 1024 / 1024} MiB`);
});

const descriptionSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

test.skipIf(process.platform === "win32")(
  "routes are those of the program",
  async () => {
    await using scenario = new Scenario();
    await scenario.run("holdfast serve");
    const description: unknown = await (await fetch(`${scenario.url}/openapi.json`)).json();
    const { paths } = descriptionSchema.parse(description);
    const actual = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const { rows } = tableWith(http, "method and path", "answer");
    expect(rows.map(([route]) => codeIn(route)[0] ?? "").sort()).toEqual(actual.sort());
  },
  30_000,
);

import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync, symlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { textDifference } from "../docs/expected.ts";
import { codeIn, ROOT, readDocument, tableWith } from "../docs/markdown.ts";
import { type Finished, runCommand } from "../fixtures/executable.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { casesOf, type ReportedCase } from "./junit-cases.ts";

/*
 * A package that depends on this one, as docs/backends.md describes it: it has the example for its backend, and uses
 * nothing but what is exported.
 */

const page = readDocument("docs/backends.md");
const KIT = join(ROOT, "test/contract-kit");

const USE = `
import { type Capabilities, type PersistenceFactory, runPersistenceContract } from "holdfast/contract";
const factory: PersistenceFactory = async ({ place }) => { throw new Error(place); };
export function use(capabilities: Capabilities) { runPersistenceContract("x", factory, capabilities, { runs: 1 }); }
`;

function block(language: string): string {
  return page.blocks.find((one) => one.language === language)?.text ?? "";
}

async function outsider(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await mkdir(folder.at("node_modules"));
  // As a package manager links a folder that is depended on; types come from the registry.
  symlinkSync(ROOT, folder.at("node_modules", "holdfast"), "junction");
  symlinkSync(join(ROOT, "node_modules", "@types"), folder.at("node_modules", "@types"), "junction");
  await Bun.write(folder.at("package.json"), JSON.stringify({ name: "outsider", type: "module" }));
  await Bun.write(folder.at("tsconfig.json"), block("json"));
  for (const name of ["example-backend.ts", "example-file.ts", "example-backend.test.ts"]) {
    cpSync(join(KIT, name), folder.at(name));
  }
  await Bun.write(folder.at("use.ts"), USE);
  return folder;
}

/** Files with a mistake each, and what a type checker must say of it. */
const MISTAKES: ReadonlyArray<readonly [file: string, what: string, code: string, named: string]> = [
  ["wrong-1.ts", "a capability that is missing", "use({ durable: true, faults: true });", "crossProcessLock"],
  [
    "wrong-2.ts",
    "a capability of another name",
    "use({ durable: true, crossProcessLock: true, faults: true, locked: true });",
    "locked",
  ],
  ["wrong-3.ts", "a member of another type", "const name: number = backend.name; void name;", "'number'"],
];

describe("types that are exported", () => {
  let errors: readonly string[] = [];

  beforeAll(async () => {
    await using folder = await outsider();
    for (const [file, , code] of MISTAKES) {
      const head = `import type { StorageBackend } from "holdfast/backend"; import { use } from "./use.ts";`;
      await Bun.write(
        folder.at(file),
        `${head} declare const backend: StorageBackend; ${code} void [backend, use];`,
      );
    }
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = await runCommand([process.execPath, tsc, "-p", folder.path], { cwd: folder.path });
    errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  }, 60_000);

  test("are enough for a backend and its tests", () => {
    expect(errors.filter((line) => !line.startsWith("wrong-"))).toEqual([]);
  });

  test.each(MISTAKES)("see %s: %s", (file, _, __, named) => {
    expect(errors.filter((line) => line.startsWith(file))).toEqual([expect.stringContaining(named)]);
  });
});

describe("the contract, run by a package that depends on this one", () => {
  let report: readonly ReportedCase[] = [];
  let result: Finished = { code: -1, stdout: "", stderr: "" };

  beforeAll(async () => {
    await using folder = await outsider();
    const file = folder.at("junit.xml");
    const command = [process.execPath, "test", "example-backend.test.ts", "--reporter=junit"];
    result = await runCommand([...command, `--reporter-outfile=${file}`], { cwd: folder.path });
    report = casesOf(await Bun.file(file).text());
  }, 60_000);

  test("passes, and reports every case", () => {
    expect(result.code).toBe(0);
    expect(report.length).toBeGreaterThan(200);
    expect(report.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  test("says at its end what the page shows, on stderr", () => {
    const summary = /^persistence contract: [\s\S]*?\n(?! )/m.exec(result.stderr)?.[0] ?? "";
    expect(textDifference(block("text"), summary)).toBeUndefined();
    expect(result.stdout).not.toContain("persistence contract");
  });

  test("has the groups of cases that the page names", () => {
    const groups = new Set(
      report.map(({ groups: [, , group = ""] }) => group.replace(/ \(needs \w+\)$/, "")),
    );
    const { rows } = tableWith(page, "the cases are about", "groups");
    const named = rows.flatMap(([, cell = ""]) => cell.split("; ").map((name) => name.split(",")[0] ?? ""));
    expect(named.toSorted()).toEqual([...groups].toSorted());
  });

  test("has the capabilities that the page explains", () => {
    const { rows } = tableWith(page, "capability", "claim it when", "without it");
    const named = rows.map(([name]) => codeIn(name)[0] ?? "");
    const shown = [...block("text").matchAll(/^ {2}(\w+): /gm)].map(([, name = ""]) => name);
    expect(named).toEqual(shown);
  });
});

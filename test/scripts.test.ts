import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { summarise } from "../scripts/junit.ts";
import { runCommand } from "./fixtures/executable.ts";
import { TempFolder } from "./fixtures/temp-folder.ts";

function report(...cases: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="99" assertions="99" failures="9" skipped="9" time="1.5">
  <testsuite name="a.test.ts" file="a.test.ts" tests="99" failures="9" skipped="9">
    <testsuite name="a group" file="a.test.ts" line="3" tests="99">
${cases.map((text) => `      ${text}`).join("\n")}
    </testsuite>
  </testsuite>
</testsuites>
`;
}

const PASSED =
  '<testcase name="works" classname="a" time="0.001" file="a.test.ts" line="4" assertions="1" />';
const SKIPPED =
  '<testcase name="later" classname="a" time="0" file="a.test.ts" line="6"><skipped /></testcase>';
const FAILED = '<testcase name="breaks" time="0.1"><failure type="AssertionError" /></testcase>';

describe("a test report", () => {
  test("is counted by its cases, whatever its totals say", () => {
    expect(summarise(report(PASSED, PASSED, FAILED, SKIPPED))).toEqual({ passed: 2, failed: 1, skipped: 1 });
  });

  test.each([
    ["no text", ""],
    ["no suite", '<?xml version="1.0"?><testsuites tests="3"></testsuites>'],
    ["suites without cases", report()],
  ])("with %s has no tests", (_, xml) => {
    expect(summarise(xml)).toEqual({ passed: 0, failed: 0, skipped: 0 });
  });

  test.each([
    ["closes itself", "<testcase name='x'/>", "passed"],
    ["closes itself after a space", PASSED, "passed"],
    ["has an empty body", '<testcase name="x"></testcase>', "passed"],
    ["only has output", '<testcase name="x"><system-out>ok</system-out></testcase>', "passed"],
    ["has a bare failure", FAILED, "failed"],
    [
      "has a failure with a body",
      '<testcase name="x">\n<failure message="1 &lt; 2">at a:1\nat b:2</failure>\n</testcase>',
      "failed",
    ],
    ["has an error", '<testcase name="x"><error message="timeout">late</error></testcase>', "failed"],
    ["is skipped", SKIPPED, "skipped"],
    ["is a todo", '<testcase name="x"><skipped message="TODO" /></testcase>', "skipped"],
    ["spreads over lines", '<testcase\n  name="x"\n  time="0"\n>\n  <failure />\n</testcase>', "failed"],
    ["has a slash in its name", '<testcase name="a/b" file="test/a.test.ts" />', "passed"],
    ["has an arrow in its name", '<testcase name="a &gt; b" />', "passed"],
    ["has a bare arrow in its name", '<testcase name="a -> b" />', "passed"],
    ["has a bare arrow in its name and fails", '<testcase name="a -> b"><failure /></testcase>', "failed"],
  ] as const)("counts a case that %s once", (_, text, kind) => {
    const counts = { passed: 0, failed: 0, skipped: 0, [kind]: 1 };
    expect(summarise(report(text))).toEqual(counts);
    expect(summarise(report(PASSED, text, SKIPPED))).toEqual({
      ...counts,
      passed: counts.passed + 1,
      skipped: counts.skipped + 1,
    });
  });

  test("of the real runner is read as it is written", async () => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("test"));
    await writeFile(
      folder.at("test", "some.test.ts"),
      `import { describe, expect, test } from "bun:test";
      describe("group > <of> \\"tests\\"", () => {
        test("a -> b / c", () => {});
        test("fails", () => expect(1).toBe(2));
        test("throws", () => { throw new Error("</testcase><skipped/>"); });
        test.skip("skipped", () => {});
        test.todo("todo");
      });
      test("works", () => {});`,
    );
    const file = folder.at("junit.xml");
    const command = [process.execPath, "test", "--reporter=junit", `--reporter-outfile=${file}`];
    expect((await runCommand(command, { cwd: folder.path })).code).toBe(1);
    expect(summarise(await Bun.file(file).text())).toEqual({ passed: 2, failed: 2, skipped: 2 });
  });
});

describe.each([
  ["test/crash/main.ts", ["--runs", "--seed", "--backend", "--run"]],
  ["test/crash/power-cut.ts", ["--backend"]],
  ["test/fuzz/main.ts", ["--inputs", "--seconds", "--seed", "--backend", "--only"]],
] as const)("%s", (script, flags) => {
  test("tells its flags when it is asked, and at a flag that it does not know", async () => {
    const asked = await runCommand([process.execPath, script, "--help"]);
    expect(asked).toMatchObject({ code: 0, stderr: "" });
    expect(asked.stdout).toStartWith("Usage: ");
    for (const flag of flags) expect(asked.stdout).toMatch(new RegExp(`^  ${flag} <`, "m"));
    const unknown = await runCommand([process.execPath, script, "--colour"]);
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toBe(`Unknown option '--colour'\n\n${asked.stdout}`);
  });
});

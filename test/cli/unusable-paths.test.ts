import { describe, expect, test } from "bun:test";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { run } from "../../src/cli/program.ts";
import { HoldfastError } from "../../src/store/errors.ts";
import { rejectionOf } from "../contract/support.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/** What is said of a path that a command is given: exit code 2, and nothing is made. */
async function refusal(folder: TempFolder, ...args: readonly string[]): Promise<readonly [string, string]> {
  const before = readdirSync(folder.path);
  const error = await rejectionOf(run(["sessions", ...args]));
  if (!(error instanceof HoldfastError)) throw error;
  expect(error.code).toBe("usage");
  expect(readdirSync(folder.path)).toEqual(before);
  return [error.message, error.hint];
}

const TOO_LONG = "it is too long, or a name in it is";
const CIRCLE = "links in it lead in a circle";

describe.skipIf(process.platform === "win32")("a path at which nothing can lie", () => {
  test.each([
    ["too long a name", `${"n".repeat(300)}.md`, TOO_LONG],
    ["too long a path", `${"n/".repeat(5_000)}s.md`, TOO_LONG],
    ["a circle of links", "circle.md", CIRCLE],
    ["a file in a circle of links", "circle.md/s.md", CIRCLE],
  ])("is told of as such by export and import: %s", async (_, name, reason) => {
    await using folder = await TempFolder.create();
    symlinkSync("circle.md", folder.at("circle.md"));
    const path = folder.at(name);
    const hint = "Name another path.";
    expect(await refusal(folder, "export", folder.at("a.db"), "s", "-o", path)).toEqual([
      `The path that -o names cannot be used: ${reason}`,
      hint,
    ]);
    expect(await refusal(folder, "import", path, "--to", folder.at("b.db"))).toEqual([
      `What is to be imported cannot be read: ${reason}`,
      hint,
    ]);
  });
});

test("a slash behind the file that -o names is told of with what lies there", async () => {
  await using folder = await TempFolder.create();
  writeFileSync(folder.at("plain.md"), "");
  const said = (path: string) => refusal(folder, "export", folder.at("a.db"), "s", "-o", path);
  const hint = "Leave the slash at the end out, or name a file in a folder.";
  expect(await said(folder.at("plain.md/"))).toEqual(["-o names a file as if it were a folder", hint]);
  expect(await said(folder.at("new.md/"))).toEqual(["-o names a folder that is not there", hint]);
  expect(await said(`${folder.path}/`)).toEqual(["-o names a folder", "Name a file in it."]);
});

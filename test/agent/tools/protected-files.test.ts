import { describe, expect, test } from "bun:test";
import { linkSync } from "node:fs";
import { join } from "node:path";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { TestFolder } from "./folder.ts";

const signal = new AbortController().signal;

describe("files that belong to the store of this process", () => {
  test("are not read, under their own name or as a hard link", async () => {
    await using folder = await TestFolder.create();
    await folder.write("agent.db", "secret words");
    linkSync(join(folder.root, "agent.db"), join(folder.root, "other-name"));
    const tools = new ToolRegistry(workspaceTools(folder.root, () => [join(folder.root, "agent.db")]));
    for (const path of ["agent.db", "other-name"]) {
      const { error, text } = await tools.call("read_file", JSON.stringify({ path }), signal);
      expect(error).toEqual({ name: "WorkspaceError", code: "WORKSPACE_PROTECTED" });
      expect(text).not.toContain("secret");
    }
  });

  test("are passed over by a search, which says so", async () => {
    await using folder = await TestFolder.create();
    await folder.write("agent.db", "secret words");
    await folder.write("notes.txt", "no secret here");
    const tools = new ToolRegistry(workspaceTools(folder.root, () => [join(folder.root, "agent.db")]));
    const { text } = await tools.call("search_text", JSON.stringify({ text: "secret" }), signal);
    expect(text).toContain("notes.txt:1");
    expect(text).not.toContain("agent.db");
    expect(text).toContain("1 entry that could not be read");
  });
});

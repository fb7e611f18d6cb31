import { describe, expect, test } from "bun:test";
import { linkSync, symlinkSync } from "node:fs";
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

  test("are all that lies below a folder among them, by whatever way", async () => {
    await using folder = await TestFolder.create();
    await folder.write("logs/project/s/session.jsonl", "secret words");
    await folder.write("logs-of-others.txt", "no secret here");
    symlinkSync("logs", join(folder.root, "link"));
    for (const own of ["logs", "link"]) {
      const tools = new ToolRegistry(workspaceTools(folder.root, () => [join(folder.root, own)]));
      for (const path of ["logs/project/s/session.jsonl", "link/project/../project/s/session.jsonl"]) {
        const { error, text } = await tools.call("read_file", JSON.stringify({ path }), signal);
        expect(error).toEqual({ name: "WorkspaceError", code: "WORKSPACE_PROTECTED" });
        expect(text).not.toContain("secret");
      }
      const { text } = await tools.call("search_text", JSON.stringify({ text: "secret" }), signal);
      expect(text).toContain("logs-of-others.txt:1");
      expect(text).not.toContain("session.jsonl");
    }
  });
});

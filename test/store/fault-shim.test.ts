import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Environment, runCommand } from "../fixtures/executable.ts";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const KINDS = ["open", "write", "sync", "truncate", "close", "link", "rename", "unlink", "mkdir"] as const;

/** One operation of each kind on the file at argv[1], and what came of it: `kind` or `kind CODE`, a line each. */
const EACH_KIND = `
  const fs = require("node:fs");
  const path = process.argv[1];
  let file = fs.openSync(path + "-first", "wx");
  const steps = {
    open: () => { file = fs.openSync(path, "wx"); },
    write: () => { const n = fs.writeSync(file, "12345"); if (n < 5) throw Object.assign(new Error(), { code: n }); },
    sync: () => fs.fdatasyncSync(file),
    truncate: () => fs.ftruncateSync(file, 2),
    close: () => fs.closeSync(file),
    link: () => fs.linkSync(path + "-first", path + "-link"),
    rename: () => fs.renameSync(path + "-first", path + "-renamed"),
    unlink: () => fs.unlinkSync(path + "-link"),
    mkdir: () => fs.mkdirSync(path + "-folder"),
  };
  for (const [kind, step] of Object.entries(steps)) {
    try { step(); console.log(kind); } catch (error) { console.log(kind, error.code); }
  }`;

async function run(code: string, path: string, env: Environment): Promise<string[]> {
  const { stdout } = await runCommand([process.execPath, "-e", code, path], { env });
  return stdout.split("\n").slice(0, -1);
}

describe.skipIf(SHIM === undefined)("the fault shim", () => {
  test.each(KINDS)("makes %s fail, alone, with the given error", async (kind) => {
    await using folder = await TempFolder.create();
    for (const action of ["EIO", "ENOSPC", "EACCES"] as const) {
      const at = kind === "open" ? 2 : 1;
      const env = faultEnvironment({ below: folder.path, on: kind, at, action });
      const lines = await run(EACH_KIND, folder.at(action), env);
      // Bun says nothing of a close that failed.
      expect(lines).toContain(kind === "close" ? kind : `${kind} ${action}`);
      // What does not depend on it is done.
      for (const other of kind === "open" || kind === "link" ? [] : KINDS) {
        if (other !== kind) expect(lines).toContain(other);
      }
    }
  });

  test("a short write takes half of the bytes, and says so", async () => {
    await using folder = await TempFolder.create();
    const env = faultEnvironment({ below: folder.path, on: "write", at: 1, action: "short" });
    expect(
      await run(EACH_KIND.replace("ftruncateSync(file, 2)", "fsyncSync(file)"), folder.at("f"), env),
    ).toContain("write 3");
    expect(readFileSync(folder.at("f"), "utf8")).toBe("123");
  });

  test.each(["before", "after"])("kills %s the operation", async (when) => {
    await using folder = await TempFolder.create();
    const action = when === "before" ? "kill-before" : "kill-after";
    const env = faultEnvironment({ below: folder.path, on: "write", at: 1, action });
    expect(await run(EACH_KIND, folder.at("f"), env)).toEqual(["open"]);
    expect(readFileSync(folder.at("f"), "utf8")).toBe(when === "before" ? "" : "12345");
  });

  test("a slow operation is done later", async () => {
    await using folder = await TempFolder.create();
    const env = faultEnvironment({ below: folder.path, on: "sync", at: 1, action: { slowMs: 120 } });
    const code = `const fs = require("node:fs"); const file = fs.openSync(process.argv[1], "w");
      for (let k = 0; k < 2; k += 1) { const t = performance.now(); fs.fsyncSync(file); console.log(performance.now() - t > 110); }`;
    expect(await run(code, folder.at("f"), env)).toEqual(["true", "false"]);
  });

  test("counts over all threads, for files of a name, and only while armed", async () => {
    await using folder = await TempFolder.create();
    const code = `const fs = require("node:fs"); const path = process.argv[1];
      const attempt = (name) => { try { fs.writeFileSync(path + name, "x"); return "done"; } catch (e) { return e.code; } };
      const said = [attempt("-log"), (fs.writeFileSync(path + ".armed", ""), attempt("-log")), attempt("-other")];
      const body = "require('node:fs').writeFileSync(" + JSON.stringify(path + "-2-log") + ", 'x'); postMessage('done')";
      const worker = new Worker(URL.createObjectURL(new Blob([body])));
      said.push(await new Promise((resolve) => { worker.onmessage = () => resolve("done"); worker.onerror = (e) => resolve("failed"); }));
      worker.terminate();
      fs.unlinkSync(path + ".armed");
      said.push(attempt("-log"));
      console.log(said.join("\\n"));`;
    const env = faultEnvironment(
      {
        below: folder.path,
        on: "write",
        at: 2,
        times: Number.POSITIVE_INFINITY,
        action: "EIO",
        name: "-log",
        armed: folder.at("f.armed"),
      },
      folder.at("tally"),
    );
    expect(await run(code, folder.at("f"), env)).toEqual(["done", "done", "done", "failed", "done"]);
    expect(readFileSync(folder.at("tally"), "utf8")).toBe(
      `write ${folder.at("f-log")}\nwrite ${folder.at("f-2-log")}\n`,
    );
  });

  test.each([
    ["--session-db", "/store-wal"],
    ["--session-dir", "/session.jsonl.zstd"],
  ])("sees what the executable writes with %s", async (option, name) => {
    await using folder = await TempFolder.create();
    const fault: Fault = { below: folder.path, on: "any", at: Number.MAX_SAFE_INTEGER, action: "EIO" };
    await using host = await HostProcess.start({
      args: [option, folder.at("store")],
      env: faultEnvironment(fault, folder.at("tally")),
    });
    expect((await host.client.invoke("hello")).status).toBe(200);
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
    const lines = readFileSync(folder.at("tally"), "utf8").split("\n");
    const kinds = lines.filter((line) => line.endsWith(name)).map((line) => line.slice(0, line.indexOf(" ")));
    expect(kinds).toEqual(expect.arrayContaining(["write", "sync"]));
  });
});

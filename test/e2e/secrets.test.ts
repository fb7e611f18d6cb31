import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runHoldfast } from "../fixtures/executable.ts";
import { faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { always, forever } from "../fixtures/model-replies.ts";
import { ProviderServer, type Reply, statusReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import {
  answer,
  callAnswer,
  data,
  errorAnswer,
  failure,
  finish,
  KEY,
  reasoning,
  text,
  textAnswer,
  unended,
  type Wire,
} from "../fixtures/wire.ts";
import { chatCompletions } from "../fixtures/wire-chat-completions.ts";
import { WIRES } from "../fixtures/wires.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const TOKEN = "hf-Token-secret-9876543210fedcba";
const HALF = Math.floor(KEY.length / 2);

/** Every way in which a server may give the key back. */
function echoes(wire: Wire): ReadonlyArray<readonly [string, Reply]> {
  const headers = {
    "x-api-key": KEY,
    [wire.requestIdHeader]: KEY,
    "www-authenticate": `Bearer ${KEY}`,
    "retry-after": "0",
  };
  return [
    ["in a refusal of the key", errorAnswer(wire, 401, `Incorrect API key provided: ${KEY}`, headers)],
    ["in a rate limit", errorAnswer(wire, 429, KEY, headers)],
    [
      "in a rejection, escaped",
      errorAnswer(wire, 400, JSON.stringify({ authorization: `Bearer ${KEY}` }), headers),
    ],
    ["in JSON of another shape", statusReply(401, { error: KEY, detail: [KEY], [KEY]: KEY })],
    ["in text", statusReply(500, `Error: ${KEY}`, headers)],
    [
      "in a page",
      statusReply(503, `<html><title>${KEY}</title></html>`, { "content-type": "text/html", ...headers }),
    ],
    ["in a page with status 200", statusReply(200, `<html>${KEY}</html>`, { "content-type": "text/html" })],
    ["in a content type", statusReply(200, "{}", { "content-type": `text/${KEY}` })],
    ["in a redirect", statusReply(302, "", { location: `http://127.0.0.1:1/${KEY}?key=${KEY}` })],
    ["in a reason phrase", () => new Response(KEY, { status: 502, statusText: KEY, headers })],
    ["in an error within the stream", unended(wire, text("Well"), failure("overloaded", `key ${KEY}`))],
    ["in a chunk that is no JSON", unended(wire, text("Well"), data(`{"key": ${KEY}`))],
    [
      "in a chunk of another shape",
      unended(wire, text("Well"), data(JSON.stringify({ choices: KEY, type: KEY }))),
    ],
    [
      "in a comment and an unknown event",
      unended(wire, `: ${KEY}\n\nevent: ${KEY}\nid: ${KEY}\ndata: ${KEY}\n\n`),
    ],
    ["in a reason to finish", answer(wire, text("Well"), { kind: "finish", word: { raw: KEY } })],
    ["in an answer, in pieces", textAnswer(wire, "It is ", KEY.slice(0, HALF), KEY.slice(HALF), ".")],
    ["in reasoning", answer(wire, reasoning(KEY, wire.reasoningFields[0]), text("Well"), finish("stop"))],
    ["in the name of a tool", callAnswer(wire, "call-1", KEY)],
    ["in arguments of a tool", callAnswer(wire, KEY, "list_files", JSON.stringify({ path: KEY }))],
    ["in what closes the conversation", textAnswer(wire, "Done")],
  ];
}

/** All that a Host lets out: its answers, its outputs, and the files that it made. */
class Witness {
  readonly #seen: Array<readonly [string, string]> = [];

  add(where: string, content: string): void {
    this.#seen.push([where, content]);
  }

  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(url, init);
    const copy = response.clone();
    this.add(
      `${init.method ?? "GET"} ${url}`,
      `${JSON.stringify([...response.headers])} ${await copy.text()}`,
    );
    return response;
  }

  /** What others can see of a process that runs. */
  async process(host: HostProcess): Promise<void> {
    if (process.platform !== "linux") return;
    for (const name of ["cmdline", "comm"])
      this.add(name, await readFile(`/proc/${host.pid}/${name}`, "utf8"));
  }

  async ended(host: HostProcess): Promise<void> {
    await host.exited;
    this.add("stdout", host.stdout.text);
    this.add("stderr", host.stderr.text);
  }

  async files(folder: string): Promise<void> {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile()) this.add(file, await readFile(file, "latin1"));
    }
  }

  expectWithout(...secrets: readonly string[]): void {
    const places = secrets.flatMap((secret) =>
      this.#seen.flatMap(([where, content]) =>
        content.toLowerCase().includes(secret.toLowerCase()) ? [`${where}: ${content.slice(0, 400)}`] : [],
      ),
    );
    expect(places).toEqual([]);
    // Nothing was looked for where nothing was seen.
    expect(this.#seen.length).toBeGreaterThan(2);
  }
}

function args(wire: Wire, server: ProviderServer, folder: TempFolder): string[] {
  const isFile = wire.name === "openai-compatible";
  return [
    ...(isFile
      ? ["--session-db", folder.at("store", "a.db")]
      : ["--session-dir", folder.at("store"), "--jsonl-encoding", "none"]),
    ...["--provider", wire.name, "--model", "m", "--base-url", wire.baseUrl(server.origin)],
    ...["--api-key-env", "MY_KEY", "--workspace", folder.at("work"), "--retries", "1"],
  ];
}

const ENV = { MY_KEY: KEY, HOLDFAST_TOKEN: TOKEN };
const authorised = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

async function makeFolder(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  for (const name of ["store", "work"]) mkdirSync(folder.at(name));
  return folder;
}

const NAMED_WIRES = WIRES.map((wire) => [wire.name, wire] as const);

// Side by side: most of their time is waiting before a request is tried again.
test.concurrent.each(NAMED_WIRES)(
  "the API key of %s is in nothing that a Host lets out, whatever the server does with it",
  async (_, wire) => {
    await using folder = await makeFolder();
    let echo = textAnswer(wire, "Well.");
    const reply: Reply = (request) => {
      // What follows a tool call is an answer, so that the Turn ends.
      const isAsked = wire.history(request.body).at(-1)?.role === "user";
      return (isAsked ? echo : textAnswer(wire, "Well."))(request);
    };
    await using server = new ProviderServer(...always(reply));
    const witness = new Witness();
    await using host = await HostProcess.start({ args: args(wire, server, folder), env: ENV });
    for (const [how, next] of echoes(wire)) {
      echo = next;
      for (const accept of ["application/json", "text/event-stream"]) {
        await witness.request(`${host.url}/api/v1/agent/invocations/a`, {
          method: "POST",
          headers: { ...authorised, accept },
          body: JSON.stringify({ input: `the key ${how}` }),
        });
      }
    }
    const [header, prefix] = wire.keyHeader;
    for (const request of server.requests) expect(request.headers.get(header)).toBe(prefix + KEY);
    for (const path of ["/api/v1/sessions/default", "/openapi.json", "/version", "/readyz", "/nothing"]) {
      await witness.request(host.url + path, { headers: authorised });
    }
    await witness.process(host);
    await host.stop("SIGTERM");
    await witness.ended(host);
    await witness.files(folder.path);
    witness.expectWithout(KEY, TOKEN, wire.keyHeader[1] + KEY);
  },
);

describe.each(NAMED_WIRES)("the API key of %s", (_, wire) => {
  test("is taken out of what tools find in the workspace", async () => {
    await using folder = await makeFolder();
    writeFileSync(folder.at("work", ".env"), `A=1\nMY_KEY=${KEY}\n`);
    await using server = new ProviderServer(
      callAnswer(wire, "c1", "read_file", '{"path":".env"}'),
      callAnswer(wire, "c2", "search_text", '{"text":"my_key"}'),
      textAnswer(wire, "Done."),
    );
    const store = wire.name === "openai-compatible" ? folder.at("store", "a.db") : folder.at("store");
    const ended = await runHoldfast(["invoke", ...args(wire, server, folder), "Look."], { env: ENV });
    expect(ended).toEqual({ code: 0, stdout: "Done.\n", stderr: "" });
    expect(server.requests[2]?.body.split("MY_KEY=[API key]")).toHaveLength(3);
    for (const { body } of server.requests) expect(body).not.toContain(KEY);
    const { stdout } = await runHoldfast(["sessions", "show", "default", store, "--events"]);
    expect(stdout).toContain("MY_KEY=[API key]");
    expect(stdout).not.toContain(KEY);
  });

  test.each(["SIGABRT", "SIGSEGV", "SIGQUIT", "SIGKILL"] as const)(
    "is in nothing that is left of a Host that %s ends in a model request",
    async (signal) => {
      await using folder = await makeFolder();
      await using server = new ProviderServer(unended(wire, text("Well"), forever()));
      const witness = new Witness();
      await using host = await HostProcess.start({
        args: args(wire, server, folder),
        env: ENV,
        cwd: folder.path,
      });
      const headers = authorised;
      const body = JSON.stringify({ input: "hello" });
      const cut = fetch(`${host.url}/api/v1/agent/invocations/a`, { method: "POST", headers, body }).catch(
        () => undefined,
      );
      await server.request(0);
      await host.stop(signal);
      await cut;
      await witness.ended(host);
      await witness.files(folder.at("store"));
      witness.expectWithout(KEY, TOKEN);
    },
  );
});

const wire = chatCompletions;

describe("secrets", () => {
  test.skipIf(SHIM === undefined)(
    "are in nothing that a failing disk makes a Host say (needs a C compiler on Linux)",
    async () => {
      await using folder = await makeFolder();
      await using server = new ProviderServer(textAnswer(wire, "Well."), textAnswer(wire, KEY));
      const armed = folder.at("armed");
      const fault = faultEnvironment({
        below: folder.at("store"),
        at: 1,
        armed,
        on: "write",
        action: "EIO",
        times: 50,
      });
      const witness = new Witness();
      await using host = await HostProcess.start({
        args: args(wire, server, folder),
        env: { ...ENV, ...fault },
      });
      for (const id of ["a", "b"]) {
        const body = JSON.stringify({ input: "hello" });
        const url = `${host.url}/api/v1/agent/invocations/${id}`;
        const { status } = await witness.request(url, { method: "POST", headers: authorised, body });
        expect(status).toBe(id === "a" ? 200 : 500);
        writeFileSync(armed, "");
      }
      await witness.request(`${host.url}/readyz`, { headers: authorised });
      await host.stop("SIGTERM");
      await witness.ended(host);
      witness.expectWithout(KEY, TOKEN);
    },
  );

  test("are in no refusal of a request without the right token, nor is what was sent in its place", async () => {
    await using folder = await makeFolder();
    await writeFile(folder.at("work", "token"), TOKEN);
    const witness = new Witness();
    await using host = await HostProcess.start({ args: ["--token-file", folder.at("work", "token")] });
    const wrong = "wrong-Token-0123456789";
    const tries = [undefined, `Bearer ${wrong}`, wrong, `Basic ${btoa(wrong)}`, `Bearer ${TOKEN}x`, "Bearer"];
    for (const authorization of tries) {
      const headers = authorization === undefined ? {} : { authorization };
      for (const path of ["/healthz", "/api/v1/sessions/default", `/${TOKEN}?token=${TOKEN}`]) {
        expect((await witness.request(host.url + path, { headers })).status).toBe(401);
      }
    }
    await host.stop("SIGTERM");
    await witness.ended(host);
    witness.expectWithout(TOKEN, wrong, btoa(wrong));
  });
});

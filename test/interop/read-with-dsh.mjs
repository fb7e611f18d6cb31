/*
 * Reads session roots with dsh's own JSONL backend, and prints what it finds as JSON; runs under Node. The argument is
 * the folder that holds dsh's packages; the roots come as JSON on standard input. dsh.ts has both shapes.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [packages = "."] = process.argv.slice(2);
const { resolve } = createRequire(join(packages, "package.json"));
const load = (name) => import(pathToFileURL(resolve(`@deepseek-ai/${name}`)).href);
const { Context } = await load("cordis");
const { default: SessionStore } = await load("dsh-session");
const { default: Invariants } = await load("dsh-invariants");
const sessionRules = await load("dsh-session/invariant");
const { default: JsonlSessionPersistence } = await load("dsh-session-persistence-jsonl");

function sha256(value) {
  return createHash("sha256").update(value).digest("hex");
}

/** Sessions are made in a context without persistence, since publishing one there would write to its root. */
const live = new Context();
await live.plugin(SessionStore);
await live.plugin(Invariants, {});
await live.plugin(sessionRules);

function findBrokenRule(session) {
  const leave = live.sessions.enter(session);
  try {
    live.sessions.announce(session);
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    leave();
  }
}

async function readSession(persistence, id) {
  const stored = await persistence.readFrom(id, 0);
  const closed = await persistence.inspect(id);
  // A restored Session owns and freezes what it is made of.
  const [seed, meta] = structuredClone([closed.events, closed.meta]);
  const session = live.sessions.prepare(id, { seed, meta, seedSource: "persistence" });
  const messages = session.deriveMessages();
  return {
    header: stored.meta,
    events: stored.events.length,
    eventsSha256: sha256(stored.events.map((event) => JSON.stringify(event)).join("\n")),
    closers: closed.events.slice(stored.events.length),
    messages: messages.length,
    messagesSha256: sha256(JSON.stringify(messages)),
    brokenRule: findBrokenRule(session),
  };
}

async function list(persistence) {
  try {
    const headers = await persistence.list();
    return Object.fromEntries(headers.map((header) => [header.id, header]));
  } catch (error) {
    return error.message;
  }
}

async function readRoot({ root, encoding, ids }) {
  const context = new Context();
  await context.plugin(SessionStore);
  await context.plugin(JsonlSessionPersistence, { root, compression: encoding });
  const persistence = context.sessionPersistence;
  const listed = await list(persistence);
  const sessions = [];
  for (const id of ids ?? (typeof listed === "string" ? [] : Object.keys(listed))) {
    const found = await readSession(persistence, id).catch((error) => ({ error: error.message }));
    sessions.push([id, found]);
  }
  return { listed, sessions: Object.fromEntries(sessions) };
}

const answers = [];
for (const request of JSON.parse(await text(process.stdin))) answers.push(await readRoot(request));
process.stdout.write(JSON.stringify(answers));

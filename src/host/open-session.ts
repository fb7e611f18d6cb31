import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import type { Agent } from "../agent/agent.ts";
import type { Agents } from "../agent/agents.ts";
import { HoldfastError } from "../session/errors.ts";
import type { SessionHeader } from "../session/header.ts";
import { NotFoundError } from "../store/errors.ts";
import { TORN_END } from "../store/finding.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import type { RuntimeConfig } from "./config.ts";

const log = getLogger(["holdfast", "host"]);

type ForkFrom = NonNullable<RuntimeConfig["forkFrom"]>;

/** The session that should become a fork is there, and is another conversation. Nothing was written. */
class ForkConflictError extends HoldfastError {
  readonly code = "already-exists";

  constructor({ id, parentSession, seedLength }: SessionHeader, { sessionId, boundary }: ForkFrom) {
    const at = (end: number | undefined) => (end === undefined ? "" : ` at seq ${end}`);
    const actual =
      parentSession === undefined
        ? "is no fork"
        : `is a fork of ${JSON.stringify(parentSession)}${at(seedLength === undefined ? undefined : seedLength - 1)}`;
    super(
      `The session ${JSON.stringify(id)} is there already, and ${actual}, not one of ${JSON.stringify(sessionId)}${at(boundary)}`,
      {
        place: { sessionId: id },
        hint: "Leave --fork-from out to go on with it, or give another --session-id for the fork.",
      },
    );
  }
}

/** Nothing was there before this process, where sessions live in memory. */
class NothingToForkError extends HoldfastError {
  readonly code = "not-found";

  constructor(sessionId: string) {
    super(
      `There is no session ${JSON.stringify(sessionId)} to fork: sessions in memory end with their process`,
      {
        place: { sessionId },
        hint: "Name the store that holds it, with --session-db PATH or --session-dir ROOT.",
      },
    );
  }
}

/**
 * The session of a configuration: resumed if it is stored, else new, or a fork where one is asked for. A fork that is
 * there already is gone on with, so that the same command can be run again.
 * @throws ForkConflictError, NotFoundError, ForkBoundaryError, and what {@link Agents.resume} throws
 */
export async function openSession(
  config: RuntimeConfig,
  newId: () => string,
  agents: Agents,
  persistence: SessionPersistence,
): Promise<Agent> {
  const { sessionId = newId(), forkFrom, sessionDb, sessionDir } = config;
  // Looked at before it is resumed: an interrupted Turn of another conversation is not ours to close.
  if (forkFrom !== undefined && (await isNewFork(sessionId, forkFrom, persistence))) {
    const forked = await fork(
      sessionId,
      forkFrom,
      agents,
      sessionDb === undefined && sessionDir === undefined,
    );
    warnOfFolder(forked, config);
    return forked;
  }
  try {
    const agent = await agents.resume({ resumeSessionId: sessionId });
    const { log: events } = agent.session;
    log.info("Resumed session {sessionId} with {events} events", { sessionId, events: events.length });
    logRecovery(agent, persistence);
    warnOfFolder(agent, config);
    return agent;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  const agent = await agents.create({ sessionId, cwd: resolve(config.workspace) });
  log.info("New session {sessionId}", { sessionId });
  await warnOfStrays(agent, persistence);
  return agent;
}

/** Whether a fork is yet to be made. @throws ForkConflictError when its id is taken by another conversation */
async function isNewFork(id: string, from: ForkFrom, persistence: SessionPersistence): Promise<boolean> {
  let header: SessionHeader;
  try {
    header = (await persistence.inspect(id)).header;
  } catch (error) {
    if (error instanceof NotFoundError) return true;
    throw error;
  }
  const { sessionId, boundary } = from;
  const isIt =
    header.parentSession === sessionId && (boundary === undefined || header.seedLength === boundary + 1);
  if (!isIt) throw new ForkConflictError(header, from);
  return false;
}

async function fork(
  newSessionId: string,
  from: ForkFrom,
  agents: Agents,
  isInMemory: boolean,
): Promise<Agent> {
  let agent: Agent;
  try {
    agent = await agents.fork({ ...from, newSessionId });
  } catch (error) {
    if (error instanceof NotFoundError && isInMemory) throw new NothingToForkError(from.sessionId);
    throw error;
  }
  log.info(
    "New session {sessionId}, forked from {parent} after {events} events. Go on with it by --session-id {sessionId}",
    { sessionId: newSessionId, parent: from.sessionId, events: agent.session.header.seedLength },
  );
  return agent;
}

/** The session that is new may have been there before, and have lost its header. */
async function warnOfStrays({ session }: Agent, persistence: SessionPersistence): Promise<void> {
  try {
    if (!(await persistence.hasStrays())) return;
  } catch {
    // Whoever reads or writes the store next is told.
    return;
  }
  log.warning(
    "The store holds events of no session. If {sessionId} was there before, they may be its own: `holdfast sessions verify` tells of them, and `holdfast sessions salvage` brings them back",
    { sessionId: session.id },
  );
}

/** What was said so far is about files that the tools do not see. */
function warnOfFolder({ session }: Agent, { workspace }: RuntimeConfig): void {
  const { id: sessionId, cwd } = session.header;
  const now = resolve(workspace);
  if (cwd === undefined || cwd === now || realPath(cwd) === realPath(now)) return;
  log.warning("Session {sessionId} was begun in {cwd}; its tools now see {now}", { sessionId, cwd, now });
}

/** As it is where nothing lies there. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function logRecovery({ recovery, session }: Agent, persistence: SessionPersistence): void {
  const { closers, torn } = recovery;
  if (torn) {
    log.warning(
      `Session {sessionId}: the ${TORN_END}. That piece was set aside: look for a file with .torn- in its name beside {location}`,
      { sessionId: session.id, location: persistence.locate(session.header) },
    );
  }
  if (closers > 0) log.info("Closed an interrupted Turn with {closers} events", { closers });
}

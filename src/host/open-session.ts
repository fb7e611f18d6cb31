import { resolve } from "node:path";
import { getLogger } from "@logtape/logtape";
import type { Agent } from "../agent/agent.ts";
import type { Agents } from "../agent/agents.ts";
import { AlreadyExistsError, NotFoundError } from "../store/errors.ts";
import { TORN_END } from "../store/finding.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import type { RuntimeConfig } from "./config.ts";

const log = getLogger(["holdfast", "host"]);

/**
 * The session of a configuration: resumed if it is stored, else new, or a fork where one is asked for. A fork that is
 * there already is gone on with, so that the same command can be run again.
 * @throws AlreadyExistsError when the session that should become a fork is another conversation
 */
export async function openSession(
  config: RuntimeConfig,
  newId: () => string,
  agents: Agents,
  persistence: SessionPersistence,
): Promise<Agent> {
  const { sessionId = newId(), forkFrom } = config;
  try {
    const agent = await agents.resume({ resumeSessionId: sessionId });
    if (forkFrom !== undefined) await assertIsFork(agent, forkFrom);
    log.info("Resumed session {sessionId} with {events} events", {
      sessionId,
      events: agent.session.log.length,
    });
    logRecovery(agent, persistence);
    return agent;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  if (forkFrom === undefined) {
    const agent = await agents.create({ sessionId, cwd: resolve(config.workspace) });
    log.info("New session {sessionId}", { sessionId });
    await warnOfStrays(agent, persistence);
    return agent;
  }
  const agent = await agents.fork({ ...forkFrom, newSessionId: sessionId });
  log.info(
    "New session {sessionId}, forked from {parent} after {events} events; --session-id goes on with it",
    {
      sessionId,
      parent: forkFrom.sessionId,
      events: agent.session.header.seedLength,
    },
  );
  return agent;
}

async function assertIsFork(
  agent: Agent,
  { sessionId: parent, boundary }: NonNullable<RuntimeConfig["forkFrom"]>,
): Promise<void> {
  const { id, parentSession, seedLength } = agent.session.header;
  if (parentSession === parent && (boundary === undefined || seedLength === boundary + 1)) return;
  await agent[Symbol.asyncDispose]();
  throw new AlreadyExistsError(id);
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

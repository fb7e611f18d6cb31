import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import { parseConfig } from "../host/config.ts";
import { startHost } from "../host/host.ts";
import type { RawOptions } from "../host/usage.ts";
import { EXIT } from "./exit-codes.ts";
import { configureLogging } from "./logging.ts";
import { StopSignals } from "./stop-signals.ts";

// Compiling each schema to code costs more start-up time and memory than a Host's few parses ever give back.
z.config({ jitless: true });

const log = getLogger(["holdfast", "serve"]);

/** `holdfast serve`: runs a Host until a signal ends it. Prints its URL on stdout when it is ready. */
export async function serve(options: RawOptions): Promise<number> {
  const config = parseConfig(options, process.env);
  await configureLogging();
  // The second one ends the process: what was acknowledged is on the disk, and recovery closes the rest.
  using stop = new StopSignals();
  const host = await startHost(config, { clock: Date.now, newId: () => crypto.randomUUID() });
  if (config.sessionDb === undefined && config.sessionDir === undefined) {
    log.warning(
      "The session is in memory only and ends with this process; --session-db PATH or --session-dir ROOT keeps it",
    );
  } else log.info("Session {location}", { location: host.location });
  process.stdout.write(`${host.url}\n`);
  await stop.arrived;
  log.info("Shutting down");
  await host[Symbol.asyncDispose]();
  return stop.code ?? EXIT.failure;
}

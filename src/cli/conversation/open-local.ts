import { z } from "zod";
import type { RuntimeConfig } from "../../host/config.ts";
import { openRuntime, type Runtime } from "../../host/runtime.ts";
import { configureLogging } from "../logging.ts";

/** An agent in this process, for a person: of its log only warnings and errors are told. */
export async function openLocal(config: RuntimeConfig): Promise<Runtime> {
  // Compiling each schema to code costs more start-up time and memory than one conversation ever gives back.
  z.config({ jitless: true });
  await configureLogging("warning");
  return openRuntime(config, { clock: Date.now, newId: () => crypto.randomUUID() });
}

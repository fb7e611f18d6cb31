import { HoldfastError } from "../session/errors.ts";
import { withDeadline } from "./deadline.ts";
import type { ListenAddress } from "./listen-address.ts";

/** The address is taken (`port-in-use`) or cannot be used (`listen-failed`). */
export class ListenError extends HoldfastError {
  readonly code: "port-in-use" | "listen-failed";

  constructor(host: string, port: number, cause: unknown) {
    const inUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    super(inUse ? `Port ${port} on ${host} is in use` : `Cannot listen on ${host} port ${port}: ${cause}`, {
      hint: inUse
        ? "Stop what listens there, or choose another --port (0 picks a free one)."
        : "Check --host and --port.",
      cause,
    });
    this.code = inUse ? "port-in-use" : "listen-failed";
  }
}

/** What the listener needs of an HTTP app. */
export interface Listenable {
  listen(options: { hostname: string; port: number }): {
    readonly server: {
      readonly port?: number | undefined;
      stop(force?: boolean): Promise<void>;
    } | null;
  };
}

/** A listening server. `stop` waits for requests under way until the deadline, then cuts them off. */
export interface Listener {
  readonly url: string;
  stop(deadlineMs: number): Promise<void>;
}

/** Starts listening. @throws ListenError */
export function listen(app: Listenable, address: ListenAddress): Listener {
  if (address.kind === "unix") throw new ListenError(address.path, 0, "not built yet");
  const { host, port } = address;
  let server: ReturnType<Listenable["listen"]>["server"];
  try {
    server = app.listen({ hostname: host, port }).server;
  } catch (error) {
    throw new ListenError(host, port, error);
  }
  if (server === null) throw new ListenError(host, port, "the server did not start");
  const running = server;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${running.port ?? port}`,
    stop: async (deadlineMs) => {
      const drained = running.stop();
      await withDeadline(drained, deadlineMs);
      await running.stop(true);
    },
  };
}

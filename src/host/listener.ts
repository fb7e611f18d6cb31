import { withDeadline } from "./deadline.ts";
import type { ListenAddress } from "./listen-address.ts";
import { ListenError, systemCode } from "./listen-error.ts";
import { assertSocketFree, listenOnSocket } from "./unix-socket.ts";

/** What the listener needs of an HTTP app. */
export interface Listenable {
  listen(options: ListenOptions): { readonly server: RunningServer | null };
}

export type ListenOptions = { hostname: string; port: number } | { unix: string };

export interface RunningServer {
  readonly port?: number | undefined;
  stop(force?: boolean): Promise<void>;
}

/** A listening server. `stop` waits for requests under way until the deadline, then cuts them off. */
export interface Listener {
  /** `http://…`, or `unix:` with the absolute path of a socket. */
  readonly url: string;
  stop(deadlineMs: number): Promise<void>;
}

/** Within this time whoever only looks whether a port is free has given it back. */
const LOOK_MS = 50;

/** What listens for no longer than it takes to see that it can. */
const PROBE: Listenable = {
  listen: (options) => ({
    server: Bun.serve({ ...options, fetch: () => new Response(null, { status: 503 }) }),
  }),
};

/** Starts listening. @throws ListenError */
export async function listen(app: Listenable, address: ListenAddress): Promise<Listener> {
  if (address.kind === "unix") return await listenAtPath(app, address.path);
  const { host, port } = address;
  try {
    return listenOnPort(app, host, port);
  } catch (error) {
    if (!(error instanceof ListenError) || error.code !== "port-in-use") throw error;
    // It may be no more than the look of another start, which would make both fail.
    await Bun.sleep(LOOK_MS);
    return listenOnPort(app, host, port);
  }
}

/**
 * Looks whether an address can be listened at. It is a courtesy to whoever mistyped it, before anything is made: another
 * process may take the address before {@link listen} does.
 * @param isYetToBeMade whether a folder that is not there will be when {@link listen} is called
 * @throws ListenError
 */
export async function assertAddressFree(
  address: ListenAddress,
  isYetToBeMade: (folder: string) => boolean,
): Promise<void> {
  if (address.kind === "unix") return await assertSocketFree(address.path, isYetToBeMade);
  await startOnPort(PROBE, address.host, address.port).stop(true);
}

function listenOnPort(app: Listenable, host: string, port: number): Listener {
  const server = startOnPort(app, host, port);
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${server.port ?? port}`,
    stop: (deadlineMs) => stop(server, deadlineMs),
  };
}

function startOnPort(app: Listenable, host: string, port: number): RunningServer {
  try {
    return start(app, { hostname: host, port });
  } catch (cause) {
    if (systemCode(cause) === "EADDRINUSE") {
      const hint = "Stop what listens there, or choose another --port (0 picks a free one).";
      throw new ListenError("port-in-use", `Port ${port} on ${host} is in use`, hint, cause);
    }
    const message = `Cannot listen on ${host} port ${port}: ${cause}`;
    throw new ListenError("listen-failed", message, "Check --host and --port.", cause);
  }
}

async function listenAtPath(app: Listenable, path: string): Promise<Listener> {
  const { server, remove } = await listenOnSocket(path, (unix) => start(app, { unix }));
  return {
    url: `unix:${path}`,
    stop: async (deadlineMs) => {
      // While it still listens: a file at which nobody listens may be another one's by now.
      remove();
      await stop(server, deadlineMs);
    },
  };
}

function start(app: Listenable, options: ListenOptions): RunningServer {
  const { server } = app.listen(options);
  if (server === null) throw new Error("the server did not start");
  return server;
}

async function stop(server: RunningServer, deadlineMs: number): Promise<void> {
  const drained = server.stop();
  await withDeadline(drained, deadlineMs);
  await server.stop(true);
}

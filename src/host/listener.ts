import { withDeadline } from "./deadline.ts";
import type { ListenAddress } from "./listen-address.ts";
import { ListenError, systemCode } from "./listen-error.ts";
import { listenOnSocket } from "./unix-socket.ts";

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

/** Starts listening. @throws ListenError */
export async function listen(app: Listenable, address: ListenAddress): Promise<Listener> {
  return address.kind === "tcp"
    ? listenOnPort(app, address.host, address.port)
    : await listenAtPath(app, address.path);
}

function listenOnPort(app: Listenable, host: string, port: number): Listener {
  let server: RunningServer;
  try {
    server = start(app, { hostname: host, port });
  } catch (cause) {
    if (systemCode(cause) === "EADDRINUSE") {
      const hint = "Stop what listens there, or choose another --port (0 picks a free one).";
      throw new ListenError("port-in-use", `Port ${port} on ${host} is in use`, hint, cause);
    }
    const message = `Cannot listen on ${host} port ${port}: ${cause}`;
    throw new ListenError("listen-failed", message, "Check --host and --port.", cause);
  }
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${server.port ?? port}`,
    stop: (deadlineMs) => stop(server, deadlineMs),
  };
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

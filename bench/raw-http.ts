/* HTTP over bare sockets: a client library would cost more than what is measured. */

const END = Buffer.from("0\r\n\r\n");

/** Sends one GET and throws the answer away. Resolves with the milliseconds until its last byte, and the bytes. */
export async function timeGet(
  port: number,
  path: string,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  const done = Promise.withResolvers<void>();
  let bytes = 0;
  const start = performance.now();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (opened) => void opened.write(request(path)),
      data: (_, data) => {
        bytes += data.length;
        // The answer is long: it comes in chunks, and ends with an empty one.
        if (data.subarray(-END.length).equals(END)) done.resolve();
      },
      close: () => done.reject(new Error(`the answer to ${path} broke off after ${bytes} bytes`)),
    },
  });
  await done.promise;
  const ms = performance.now() - start;
  socket.end();
  return { ms, bytes };
}

/**
 * Asks for `path` over so many connections, each again when it has its answer, for so long.
 * Returns requests a second, and how many there were in all.
 */
export async function requestRate(
  port: number,
  path: string,
  connections: number,
  forMs: number,
): Promise<{ rate: number; answers: number }> {
  const length = await answerLength(port, path);
  let answers = 0;
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      let left = length;
      return Bun.connect({
        hostname: "127.0.0.1",
        port,
        socket: {
          data: (socket, data) => {
            left -= data.length;
            if (left > 0) return;
            left = length;
            answers += 1;
            socket.write(request(path));
          },
        },
      });
    }),
  );
  for (const socket of sockets) socket.write(request(path));
  await Bun.sleep(forMs / 4);
  const before = answers;
  const start = performance.now();
  await Bun.sleep(forMs);
  const rate = ((answers - before) / (performance.now() - start)) * 1000;
  for (const socket of sockets) socket.terminate();
  return { rate, answers };
}

/** Bytes of one answer, head and all. Answers to the same request differ in nothing but digits. */
async function answerLength(port: number, path: string): Promise<number> {
  const length = Promise.withResolvers<number>();
  let text = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (opened) => void opened.write(request(path)),
      data: (_, data) => {
        text += data.toString("latin1");
        const head = text.indexOf("\r\n\r\n") + 4;
        const body = Number(/content-length: (\d+)/i.exec(text)?.[1]);
        if (head >= 4 && text.length === head + body) length.resolve(text.length);
      },
    },
  });
  const bytes = await length.promise;
  socket.end();
  return bytes;
}

function request(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
}

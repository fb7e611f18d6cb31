/* A bare compiled Bun.serve: the floor for start-up. */

const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ok") });
process.stdout.write(`${server.url.origin}\n`);

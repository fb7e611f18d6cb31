import { Elysia } from "elysia";

/* Bare Elysia with the same answers: the floor for small requests. The argument is the text of a small session. */

const [session = "{}"] = process.argv.slice(2);
const app = new Elysia()
  .get("/healthz", () => ({ status: "ok" }))
  .get(
    "/api/v1/sessions/:sessionId",
    () => new Response(session, { headers: { "content-type": "application/json" } }),
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
process.stdout.write(`http://127.0.0.1:${app.server?.port}\n`);

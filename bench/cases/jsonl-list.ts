import { openJsonl, openJsonlReadOnly } from "../../src/store/jsonl/index.ts";

/* `fill`: makes many sessions. `list`: lists them in a new process, the first page and then all. */

const [mode = "fill", root = "", count = "10000"] = process.argv.slice(2);
const options = { root, clock: () => 0, chunkWindowMs: 0 };
if (mode === "fill") {
  await using store = await openJsonl({ ...options, thread: "process" });
  for (let n = 0; n < Number(count); n += 1) {
    const header = { version: 0 as const, id: `session-${n}`, createdAt: n, cwd: `/srv/project-${n % 20}` };
    await using session = await store.create(header);
    await session.log.appendAll([
      { type: "turn/start", data: { turn: 1 } },
      { type: "todo/write", data: { items: ["x".repeat(200)] } },
    ]);
  }
  process.stdout.write("{}");
} else {
  await using store = await openJsonlReadOnly(options);
  const start = performance.now();
  let page = await store.list();
  const first = performance.now() - start;
  const allStart = performance.now();
  let items = 0;
  page = await store.list({ limit: 500 });
  for (;;) {
    items += page.items.length;
    if (page.nextCursor === undefined) break;
    page = await store.list({ limit: 500, cursor: page.nextCursor });
  }
  process.stdout.write(JSON.stringify({ first, all: performance.now() - allStart, items }));
}

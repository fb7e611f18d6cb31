import { statSync } from "node:fs";
import { decodeHeader } from "../../src/session/header.ts";
import { recordEvents } from "../../src/session/records.ts";
import { findLog } from "../../src/store/jsonl/directory.ts";
import { readHead } from "../../src/store/jsonl/head.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import { decodeLines } from "../../src/store/jsonl/line-decoder.ts";
import { LogFile } from "../../src/store/jsonl/log-file.ts";
import { unitsOf } from "../../src/store/jsonl/units.ts";

/* Writes a log again, in the batches that it has. */

const [path = "", root = ""] = process.argv.slice(2);
using file = new LogFile({ path, encoding: "zstd" });
const { headerText, bodyOffset } = readHead(file);
const header = decodeHeader(headerText, {});
{
  await using store = await openJsonl({ root, clock: () => 0, chunkWindowMs: 0 });
  await using session = await store.create(header);
  let next = 0;
  for (const unit of unitsOf(file, bodyOffset, false)) {
    if (unit.kind === "break") throw new Error(unit.found);
    const { records, next: after } = decodeLines(unit.content, next, {}, "zstd");
    await store.append(
      session.id,
      records.flatMap(({ record }) => recordEvents(record)),
    );
    next = after;
  }
}
const written = statSync(findLog(root, header.id)?.path ?? "").size;
process.stdout.write(JSON.stringify({ id: header.id, original: statSync(path).size, written }));

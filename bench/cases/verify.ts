import { prepareChecks } from "../../src/session/events.ts";
import { openExaminer } from "../../src/store/open-examiner.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { verifySessions, verifyStore } from "../../src/store/verify.ts";
import { peakMb } from "../measure.ts";

/* Checks a store in a new process, and says how long that took and what was found. */

const [name = ""] = process.argv.slice(2);
await using examiner = await openExaminer(parseStoreName(name));
// A store that is opened does it as well, before what is measured of it.
prepareChecks();
const start = performance.now();
let errors = 0;
let events = 0;
for (const reports of [verifyStore(examiner), verifySessions(examiner)]) {
  for await (const report of reports) {
    if (report.kind === "store" || report.kind === "session") errors += report.errors;
    if (report.kind === "session") events += report.events;
  }
}
const ms = performance.now() - start;
process.stdout.write(JSON.stringify({ ms, errors, events, peak: peakMb() }));

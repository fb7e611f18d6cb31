import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { findLog } from "../../src/store/jsonl/directory.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { tearLog } from "../fixtures/log-files.ts";
import { textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test.each(["zstd", "none"] as const)(
  "a Host says when it set the torn end of a log aside: %s",
  async (kind) => {
    await using lab = await HostLab.on(kind, textReply("Here."), textReply("Still here."));
    const first = await lab.start();
    await first.client.invoke("Are you there?");
    const { nextSeq } = await first.client.read();
    await first.stop("SIGKILL");
    const path = findLog(lab.store, "default")?.path ?? "";
    tearLog(path, kind);

    const second = await lab.start();
    await second.stderr.waitFor(
      /WRN.*Session default: the end of the log is damaged or was never fully written.*set aside.*\.torn-/,
    );
    await second.stderr.waitFor(/INF.*Closed an interrupted Turn with \d+ events/);
    expect(readdirSync(dirname(path)).filter((name) => name.includes(".torn-"))).toHaveLength(1);
    expect((await second.client.invoke("And now?")).body).toMatchObject({ turn: 2, message: "Still here." });
    await second.stop("SIGTERM");

    const third = await lab.start();
    expect((await third.client.read()).nextSeq).toBeGreaterThan(nextSeq);
    expect(third.stderr.text).not.toContain("WRN");
  },
);

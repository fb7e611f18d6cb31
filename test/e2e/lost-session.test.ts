import { expect, setDefaultTimeout, test } from "bun:test";
import { damage } from "../fixtures/damaged-store.ts";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test("a Host says whether its session is new, and warns where rows of no session may be its own", async () => {
  await using lab = await HostLab.on("sqlite", textReply("Here."), textReply("Again."));
  const first = await lab.start();
  await first.stderr.waitFor(/INF.*New session default/);
  await first.client.invoke("Are you there?");
  await first.stop("SIGTERM");
  expect(first.stderr.text).not.toContain("WRN");

  damage(lab.store, (database) => database.run("DELETE FROM sessions"));
  const repair = ["sessions", "repair", "--dry-run", "--session-db", lab.store];
  expect((await runHoldfast(repair)).stdout).toMatch(
    /^set \d+ rows of no session aside from \S+, with \d+ events in them: they may be a whole session/,
  );

  const second = await lab.start();
  await second.stderr.waitFor(/WRN.*events of no session.*default.*sessions verify.*sessions salvage/);
  await second.client.invoke("Are you still there?");
  await second.stop("SIGTERM");

  const third = await lab.start();
  await third.stderr.waitFor(/INF.*Resumed session default with \d+ events/);
  await third.stop("SIGTERM");
  expect(third.stderr.text).not.toContain("WRN");
});

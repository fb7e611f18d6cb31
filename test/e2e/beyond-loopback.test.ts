import { expect, setDefaultTimeout, test } from "bun:test";
import { HostProcess } from "../fixtures/host-process.ts";
import { expectProblem } from "../fixtures/problem.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test("a Host beyond loopback answers, under any name, those who have the token", async () => {
  const token = "a token that nobody guesses";
  await using host = await HostProcess.start({
    args: ["--host", "0.0.0.0"],
    env: { HOLDFAST_TOKEN: token },
  });
  const url = `http://127.0.0.1:${new URL(host.url).port}/healthz`;
  const authorization = `Bearer ${token}`;
  for (const name of ["localhost", "agent.example"]) {
    expect((await fetch(url, { headers: { host: name, authorization } })).status).toBe(200);
    await expectProblem(await fetch(url, { headers: { host: name } }), 401, "unauthorised");
    const headers = { host: name, authorization: `${authorization}x` };
    await expectProblem(await fetch(url, { headers }), 401, "unauthorised");
  }
});

import { describe, expect, test } from "bun:test";
import type { CallSettings } from "../../../../src/agent/provider.ts";
import type { AgentRig } from "../../../fixtures/agent-rig.ts";
import { openWireRig, routeOf, textAnswer } from "../../../fixtures/wire.ts";
import { EACH_WIRE } from "../../../fixtures/wires.ts";

const CALL = {
  reasoningEffort: "high",
  temperature: 0.5,
  maxTokens: 4_096,
  stop: ["END", "STOP"],
} as const satisfies CallSettings;

const headersOf = (rig: AgentRig) => rig.all("request/header").map(({ data }) => data);

describe.each(EACH_WIRE)("call settings over %s", (_, wire) => {
  const answers = (count: number) => Array.from({ length: count }, () => textAnswer(wire, "ok"));
  const bodyOf = (rig: AgentRig, at: number): unknown => rig.server.requests[at]?.json();

  test("reach the provider and stand in the log", async () => {
    await using rig = await openWireRig(wire, answers(1), { call: CALL });
    expect((await rig.run("hi")).failure).toBeUndefined();
    expect<unknown>(wire.settings(rig.server.requests[0]?.body ?? "")).toEqual(CALL);
    expect(headersOf(rig)).toMatchObject([
      { reason: "initial", header: { config: { ...routeOf(wire), ...CALL } } },
    ]);
    expect(headersOf(rig)[0]?.header).not.toHaveProperty("adapterDefaults");
  });

  test("that nobody gave are left out, but for those that the provider needs: they are marked as its own", async () => {
    await using rig = await openWireRig(wire, answers(1));
    await rig.run("hi");
    const { defaults = {} } = rig.provider;
    const sent = Object.entries(wire.settings(rig.server.requests[0]?.body ?? "")).filter(
      ([, value]) => value !== undefined,
    );
    expect<unknown>(Object.fromEntries(sent)).toEqual(defaults);
    const [entry] = headersOf(rig);
    expect<unknown>(entry?.header.config).toEqual({ ...routeOf(wire), ...defaults });
    const names = Object.keys(defaults);
    expect<unknown>(entry?.header["adapterDefaults"]).toEqual(
      names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, true])),
    );
    expect(names).toEqual(wire.name === "anthropic" ? ["maxTokens"] : []);
  });

  test("further members of the body are sent as they are, and win", async () => {
    const extraBody = { top_p: 0.9, temperature: 1, nested: { list: [1, null, "é"] } };
    await using rig = await openWireRig(wire, answers(1), { call: { ...CALL, extraBody } });
    await rig.run("hi");
    expect(bodyOf(rig, 0)).toMatchObject({ ...extraBody, model: "test-model" });
    expect(headersOf(rig)).toMatchObject([{ header: { config: { ...CALL, extraBody } } }]);
  });

  test("that differ after a restart are written once, as resume; the same ones are not", async () => {
    await using rig = await openWireRig(wire, answers(6), { call: CALL });
    await rig.run("1");
    await rig.restart();
    await rig.run("2");
    const other = { ...CALL, temperature: 1, stop: ["END"] };
    await rig.restart({ call: other });
    await rig.run("3");
    await rig.run("4");
    await rig.run("5", { route: { ...routeOf(wire), model: "other-model" } });
    expect(headersOf(rig)).toMatchObject([
      { reason: "initial", header: { config: CALL } },
      { reason: "resume", header: { config: other } },
      { reason: "change", header: { config: { ...other, model: "other-model" } } },
    ]);
    expect(rig.server.requests.map(({ body }) => wire.settings(body).temperature)).toEqual([
      0.5, 0.5, 1, 1, 1,
    ]);
    // A setting that is gone is gone.
    const { temperature: _gone, ...rest } = other;
    await rig.restart({ call: rest });
    await rig.run("6");
    expect(wire.settings(rig.server.requests[5]?.body ?? "").temperature).toBeUndefined();
    expect(headersOf(rig).at(-1)?.header.config).not.toHaveProperty("temperature");
  });
});

import { describe, expect, test } from "bun:test";
import type { Provider } from "../../../src/agent/provider.ts";
import {
  DuplicateRouteError,
  NoRouteError,
  ProviderRegistry,
} from "../../../src/agent/providers/registry.ts";

function provider(name: string): Provider {
  return {
    name,
    async *stream() {
      yield { type: "finish", reason: { kind: "stop" } };
    },
  };
}

describe("ProviderRegistry", () => {
  test("resolves exactly the pair of provider and model that was registered", () => {
    const registry = new ProviderRegistry();
    const first = provider("first");
    const second = provider("second");
    registry.register({ provider: "a", model: "m1" }, first);
    registry.register({ provider: "a", model: "m2" }, second);
    expect(registry.resolve({ provider: "a", model: "m1" })).toBe(first);
    expect(registry.resolve({ provider: "a", model: "m2" })).toBe(second);
  });

  test("never falls back: another model or another case of the name has no route", () => {
    const registry = new ProviderRegistry();
    registry.register({ provider: "a", model: "m1" }, provider("first"));
    for (const route of [
      { provider: "a", model: "m2" },
      { provider: "A", model: "m1" },
      { provider: "a", model: "" },
    ]) {
      expect(() => registry.resolve(route)).toThrow(NoRouteError);
    }
  });

  test("the error names the route asked for, the registered ones, and what to do", () => {
    const registry = new ProviderRegistry();
    registry.register({ provider: "demo", model: "demo" }, provider("demo"));
    try {
      registry.resolve({ provider: "x", model: "y" });
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof NoRouteError)) throw error;
      expect(error.code).toBe("no-route");
      expect(error.message).toBe('There is no route to provider "x", model "y". Registered: demo/demo.');
      expect(error.hint).not.toBe("");
      expect(error.routes).toEqual([{ provider: "demo", model: "demo" }]);
    }
  });

  test("an endless route or list of routes gives a bounded message", () => {
    const registry = new ProviderRegistry();
    for (let k = 0; k < 100; k += 1) registry.register({ provider: "p", model: `m${k}` }, provider("p"));
    expect(() => registry.resolve({ provider: "x".repeat(10_000), model: "y" })).toThrow(/and 90 more\.$/);
    try {
      registry.resolve({ provider: "x".repeat(10_000), model: "y" });
    } catch (error) {
      expect(String(error).length).toBeLessThan(500);
    }
  });

  test("a second registration of a route is refused and the first one stands", () => {
    const registry = new ProviderRegistry();
    const first = provider("first");
    registry.register({ provider: "a", model: "m" }, first);
    expect(() => registry.register({ provider: "a", model: "m" }, provider("second"))).toThrow(
      DuplicateRouteError,
    );
    expect(registry.resolve({ provider: "a", model: "m" })).toBe(first);
  });

  test("routes are told apart whatever separators their names hold", () => {
    const registry = new ProviderRegistry();
    registry.register({ provider: "a/b", model: "c" }, provider("one"));
    registry.register({ provider: "a", model: "b/c" }, provider("two"));
    expect(registry.resolve({ provider: "a/b", model: "c" }).name).toBe("one");
    expect(registry.resolve({ provider: "a", model: "b/c" }).name).toBe("two");
    expect(registry.routes()).toEqual([
      { provider: "a/b", model: "c" },
      { provider: "a", model: "b/c" },
    ]);
  });
});

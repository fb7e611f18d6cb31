import { LogWriter, SessionLog } from "../../src/session/log.ts";
import { Session } from "../../src/session/session.ts";

/*
 * A case that fails abandons what it has under way. The runner would blame the next case for each rejection that nobody
 * waits for any more, so what a store returns to a case counts as waited for.
 */

/** Methods whose result holds what a case appends through. */
const OPENING: ReadonlySet<string | symbol> = new Set(["create", "prepare"]);

/** The same object, whose promises may be abandoned. */
export function quiet<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (_, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return within(value);
      return (...args: readonly unknown[]) => {
        const result: unknown = Reflect.apply(value, target, args);
        return within(result instanceof Promise && OPENING.has(key) ? result.then(within) : result);
      };
    },
  });
}

function within(value: unknown): unknown {
  if (value instanceof Promise) value.catch(() => undefined);
  if (value instanceof Session || value instanceof SessionLog || value instanceof LogWriter)
    return quiet(value);
  return isPreparation(value) ? quiet(value) : value;
}

function isPreparation(value: unknown): value is object {
  return typeof value === "object" && value !== null && "publish" in value;
}

import type { z } from "zod";

/** Answers whether a value fits a schema, without building a result. */
export type Checker = (value: unknown) => boolean;

type Schema = z.core.$ZodType;
type AnyDef = z.core.$ZodTypes["_zod"]["def"];

/**
 * Compiles a zod schema into plain closures. Opening a long session checks thousands of events, and zod takes longer to
 * warm up than the whole open may take. The schemas stay the one definition: this reads them, and whoever gets `false`
 * asks zod for the reason.
 * @throws TypeError for a kind of schema or check that it does not know, so that none is skipped in silence
 */
export function compileChecker(schema: Schema): Checker {
  const checks = compileChecks(schema);
  const check = compileType((schema as z.core.$ZodTypes)._zod.def);
  if (checks.length === 0) return check;
  return (value) => check(value) && checks.every((each) => each(value));
}

function compileType(def: AnyDef): Checker {
  switch (def.type) {
    case "string":
      return (value) => typeof value === "string";
    case "number":
      return (value) => typeof value === "number" && Number.isFinite(value);
    case "boolean":
      return (value) => typeof value === "boolean";
    case "unknown":
      return () => true;
    case "literal": {
      const { values } = def;
      const [only] = values;
      return values.length === 1
        ? (value) => value === only
        : (value) => values.some((each) => each === value);
    }
    case "enum": {
      const values = new Set<unknown>(Object.values(def.entries));
      return (value) => values.has(value);
    }
    case "array": {
      const element = compileChecker(def.element);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case "tuple": {
      const items = def.items.map(compileChecker);
      return (value) =>
        Array.isArray(value) &&
        value.length === items.length &&
        items.every((item, index) => item(value[index]));
    }
    case "optional": {
      const inner = compileChecker(def.innerType);
      return (value) => value === undefined || inner(value);
    }
    case "object":
      return compileObject(def.shape);
    case "union":
      return compileUnion(def);
    default:
      throw new TypeError(`no checker for the schema type ${def.type}`);
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members that the shape does not name pass: event data keeps unknown keys. */
function compileObject(shape: Readonly<Record<string, Schema>>): Checker {
  const members = Object.entries(shape).map(([key, schema]) => {
    const isOptional = (schema as z.core.$ZodTypes)._zod.def.type === "optional";
    return { key, isOptional, check: compileChecker(schema) };
  });
  return (value) => {
    if (!isRecord(value)) return false;
    for (const { key, isOptional, check } of members) {
      const member = value[key];
      if (member === undefined ? !isOptional : !check(member)) return false;
    }
    return true;
  };
}

function compileUnion(def: z.core.$ZodUnionDef & { readonly discriminator?: string }): Checker {
  const { discriminator, options } = def;
  if (discriminator === undefined) {
    const checkers = options.map(compileChecker);
    return (value) => checkers.some((check) => check(value));
  }
  const byTag = new Map<unknown, Checker>();
  for (const option of options) {
    for (const tag of option._zod.propValues?.[discriminator] ?? []) byTag.set(tag, compileChecker(option));
  }
  return (value) => isRecord(value) && byTag.get(value[discriminator])?.(value) === true;
}

function compileChecks(schema: Schema): Checker[] {
  return (schema._zod.def.checks ?? []).map((check) => compileCheck((check as z.core.$ZodChecks)._zod.def));
}

function compileCheck(def: z.core.$ZodChecks["_zod"]["def"] | z.core.$ZodCustomDef): Checker {
  switch (def.check) {
    case "custom": {
      const { fn } = def;
      return (value) => Boolean(fn(value));
    }
    case "number_format":
      return Number.isSafeInteger;
    case "greater_than": {
      const least = Number(def.value);
      return (value) => typeof value === "number" && (def.inclusive ? value >= least : value > least);
    }
    case "less_than": {
      const most = Number(def.value);
      return (value) => typeof value === "number" && (def.inclusive ? value <= most : value < most);
    }
    case "min_length":
      return (value) => typeof value === "string" && value.length >= def.minimum;
    default:
      throw new TypeError(`no checker for the schema check ${def.check}`);
  }
}

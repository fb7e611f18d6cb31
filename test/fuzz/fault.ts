import { HoldfastError } from "../../src/store/errors.ts";

/** Something that no input may bring about. */
export class Fault extends Error {
  readonly check: string;

  /** @param check the rule that does not hold */
  constructor(check: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.check = check;
  }
}

export function need(condition: boolean, check: string, message: () => string): asserts condition {
  if (!condition) throw new Fault(check, message());
}

/** How something ended that may be refused. */
export type Outcome<T> = { readonly value: T } | { readonly error: HoldfastError };

/** Runs what may only ever be refused with a typed error. @throws Fault for any other error */
export async function typed<T>(what: string, task: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await task() };
  } catch (error) {
    if (error instanceof HoldfastError) return { error };
    if (error instanceof Fault) throw error;
    throw new Fault("errors are typed", `${what} threw ${describe(error)}`, error);
  }
}

export function describe(error: unknown): string {
  if (error instanceof HoldfastError) return `${error.code}: ${error.explain().replaceAll("\n", " ")}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

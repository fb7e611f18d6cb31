import { badResponse } from "./errors.ts";

/** Every delta of a call names it, so that a long id or name would multiply. */
const MAX_LENGTH = 256;

/** @throws ProviderError when an id or name is too long to be true, also while it still grows */
export function checkCallLength(id: string, name: string): void {
  if (id.length <= MAX_LENGTH && name.length <= MAX_LENGTH) return;
  throw badResponse(`The provider sent a tool call whose id or name is longer than ${MAX_LENGTH} characters`);
}

/**
 * Checks the complete id and name of a call, and remembers the id in `seen`: results name their call by it.
 *
 * @throws ProviderError when one is empty or too long, or when the id was there before
 */
export function checkCall(id: string, name: string, seen: Set<string>): void {
  if (id === "") throw badResponse("The provider sent a tool call without an id");
  if (name === "") throw badResponse("The provider sent a tool call without a name");
  checkCallLength(id, name);
  if (seen.has(id)) throw badResponse("The provider sent two tool calls with the same id");
  seen.add(id);
}

/* Numbers of things, as they are told to people. */

/** `1 event`, `1,240 events`, `2 retries`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : several}`;
}

/** A whole number with a comma before each three digits. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

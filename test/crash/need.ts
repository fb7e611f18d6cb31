/** @throws Error saying what is wrong, unless the condition holds */
export function need(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/** As `show` names it. */
export function modelText({
  model,
  provider,
}: {
  readonly model: string;
  readonly provider: string;
}): string {
  return `${model} (${provider})`;
}

/** Cuts `text` to at most `max` UTF-16 units and an ellipsis, between characters and never inside one. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  const insidePair = last >= 0xd800 && last <= 0xdbff;
  return `${text.slice(0, insidePair ? max - 1 : max)}…`;
}

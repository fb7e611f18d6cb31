// Made when a text is cut for the first time: loading the tables behind it would slow every start.
let characters: Intl.Segmenter | undefined;

/** Cuts `text` to at most `max` UTF-16 units and an ellipsis, between characters and never inside one. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  // Between two of these characters there is always a border.
  if (/^[ -~]*$/.test(text.slice(0, max + 1))) return `${text.slice(0, max)}…`;
  // Some units more than fit, so that a character that would be cut is seen as a whole.
  const head = text.slice(0, max + 64);
  let end = 0;
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { index, segment } of characters.segment(head)) {
    if (index + segment.length > max) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end)}…`;
}

const EVENT_STREAM = "text/event-stream";

/** How well a media type suits a client: by quality, then by how exactly it was named, then by which came first. */
type Rank = readonly [quality: number, exactness: number, place: number];

/**
 * Whether a client would rather have an event stream than `other`, by its `Accept` header. Without one, or with `*\/*`
 * alone, it would not: a stream is only for those who ask for it.
 */
export function prefersEventStream(accept: string | null | undefined, other: string): boolean {
  const ranges = (accept ?? "").split(",").map(parseRange);
  const stream = rankOf(ranges, EVENT_STREAM);
  if (stream[0] <= 0 || stream[1] < 1) return false;
  const rival = rankOf(ranges, other);
  const difference = stream.map((value, k) => value - (rival[k] ?? 0)).find((value) => value !== 0) ?? 0;
  return difference > 0;
}

interface Range {
  readonly type: string;
  readonly quality: number;
}

/** `text/html;level=1;q=0.5` → type and quality. A quality that is none counts as 1. */
function parseRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, "") ?? "1";
  return { type, quality: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(quality) ? Number(quality) : 1 };
}

/** The most exact range that takes a type counts: `text/event-stream;q=0, *\/*` refuses streams. */
function rankOf(ranges: readonly Range[], type: string): Rank {
  const family = `${type.split("/")[0]}/*`;
  for (const [exactness, name] of [[2, type] as const, [1, family] as const, [0, "*/*"] as const]) {
    const place = ranges.findIndex((range) => range.type === name);
    const range = ranges[place];
    if (range !== undefined) return [range.quality, exactness, -place];
  }
  return [0, -1, 0];
}

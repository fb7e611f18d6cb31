const MASK = "[API key]";

/**
 * Shorter keys are not looked for in what a model says: they are placeholders of local servers, such as `ollama`, and
 * words of their own.
 */
const SHORTEST_SECRET = 12;

/** As many leading characters of a key may show where it arrives in pieces. */
const SHOWN = 7;

/**
 * Hides an API key in text that a provider wrote: as it is, in any case, and as JSON, URLs, Basic credentials and other
 * base64 texts spell it.
 */
export function keyMask(apiKey: string | undefined): (text: string) => string {
  if (apiKey === undefined) return (text) => text;
  const spellings = new Set([
    apiKey,
    JSON.stringify(apiKey).slice(1, -1),
    JSON.stringify(apiKey).slice(1, -1).replaceAll("/", "\\/"),
    encodeURIComponent(apiKey),
    ...base64Parts(apiKey),
  ]);
  // The longest first, so that none is cut in two by a shorter one.
  const sources = [...spellings].sort((a, b) => b.length - a.length).map(RegExp.escape);
  const pattern = new RegExp(sources.join("|"), "gi");
  return (text) => text.replace(pattern, MASK);
}

/** The key to look for in what a model says; undefined where there is none worth hiding. */
export function secretOf(apiKey: string | undefined): string | undefined {
  return apiKey !== undefined && apiKey.length >= SHORTEST_SECRET ? apiKey : undefined;
}

/** How base64 spells a text that stands somewhere in a longer one: the characters that depend on it alone. */
function base64Parts(text: string): string[] {
  if (text.length < SHORTEST_SECRET) return [];
  return [0, 1, 2].flatMap((before) => {
    const encoded = btoa(" ".repeat(before) + text).replace(/=+$/, "");
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + text.length) * 8) / 6);
    const part = encoded.slice(first, last);
    return [part, part.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/**
 * Hides a secret in a text that arrives in pieces, also where it is spread over several of them. What may be the
 * beginning of the secret is held back until more is known; at most its first {@link SHOWN} characters stay.
 */
export class SecretFilter {
  readonly #secret: string | undefined;
  readonly #head: string;
  #shown = "";
  #held = "";
  #found = false;

  constructor(secret: string | undefined) {
    this.#secret = secret;
    this.#head = secret?.slice(0, SHOWN + 1) ?? "";
  }

  /** Whether the secret was there. */
  get found(): boolean {
    return this.#found;
  }

  /** The part of the text that may be shown now. */
  add(text: string): string {
    const secret = this.#secret;
    if (secret === undefined) return text;
    const all = this.#shown + this.#held + text;
    let out = "";
    let end = this.#shown.length;
    for (let at = all.indexOf(secret); at !== -1; at = all.indexOf(secret, at + secret.length)) {
      out += all.slice(end, Math.max(end, at)) + MASK;
      end = at + secret.length;
      this.#found = true;
    }
    // Nothing before this belongs to a secret that may still begin.
    const from = out === "" ? 0 : end;
    const border = Math.max(end, this.#beginning(all, secret, from));
    this.#held = all.slice(border);
    this.#shown = all.slice(from, border).slice(-SHOWN);
    return out + all.slice(end, border);
  }

  /** What was held back, once nothing more comes. */
  end(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }

  /** Where the end of `all` begins to look like the secret; its length when it does not. */
  #beginning(all: string, secret: string, from: number): number {
    const first = Math.max(from, all.length - secret.length + 1);
    for (let at = all.indexOf(this.#head, first); at !== -1; at = all.indexOf(this.#head, at + 1)) {
      if (secret.startsWith(all.slice(at))) return at;
    }
    return all.length;
  }
}

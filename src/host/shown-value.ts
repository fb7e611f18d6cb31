import { clip } from "../session/text.ts";

/*
 * What messages show of a value that cannot be used. People put a key where its name, or anything else, should stand; what may
 * be one is not shown.
 */

/** A value as a message shows it. */
export function shownValue(value: unknown): string {
  if (typeof value === "string")
    return mayBeSecret(value) ? hiddenText(value) : JSON.stringify(clip(value, 200));
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A path as a message shows it: paths are long, and still worth telling. */
export function shownPath(path: string): string {
  const isPath = /^(\.{0,2}[/\\]|~|[A-Za-z]:)/.test(path) || /\.[A-Za-z]{1,10}$/.test(path);
  return isPath || !mayBeSecret(path) ? path : hiddenText(path);
}

/** A text that may be a secret, as a message tells of it. */
export function hiddenText(text: string): string {
  return `a text of ${text.length} characters (not shown, for it may be a secret)`;
}

/** Long words that are none of a language, the beginnings of well-known keys, and addresses with a password or a query. */
function mayBeSecret(text: string): boolean {
  return (
    /[\w+=-]{20,}/.test(text) ||
    /^(?:sk|pk|rk|gh[a-z]|xox[a-z]|key|token|bearer)[-_ ]/i.test(text) ||
    /[@?]/.test(text)
  );
}

import { existsSync } from "node:fs";
import { clip } from "../session/text.ts";

/*
 * What messages show of a value that cannot be used. People put a key where its name, or anything else, should stand; what may
 * be one is not shown.
 */

/** The beginnings of well-known keys. */
const KEY = /^(?:sk|pk|rk|gh[a-z]|xox[a-z]|key|token|bearer)[-_ ]/i;
/** The ending of a file's name. */
const ENDING = /\.[A-Za-z]{1,10}$/;

/** A value as a message shows it. */
export function shownValue(value: unknown): string {
  if (typeof value === "string")
    return mayBeSecret(value) ? hiddenText(value) : JSON.stringify(clip(value, 200));
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A path as a message shows it: paths are long, and still worth telling. */
export function shownPath(path: string): string {
  return beginsLikePath(path) || ENDING.test(path) || !mayBeSecret(path) ? path : hiddenText(path);
}

/** Whether a word of a text, which was typed where none belongs, may be shown again. */
export function isShownWord(word: string): boolean {
  return existsSync(word) || !(mayBeSecret(word) || mayBePassword(word));
}

/** The same of one that may be a path. Typed where none belongs it need not be one, unless something lies there. */
export function isShownPath(word: string): boolean {
  if (beginsLikePath(word) || existsSync(word)) return true;
  if (!ENDING.test(word)) return isShownWord(word);
  const hasKey = word.split("/").some((part) => KEY.test(part));
  return !(hasKey || (word.match(/[A-Za-z\d+=]{20,}/g) ?? []).some(isMixed));
}

/** A text that may be a secret, as a message tells of it. */
export function hiddenText(text: string): string {
  return `a text of ${text.length} characters (not shown, for it may be a secret)`;
}

/** Long words that are none of a language, the beginnings of well-known keys, and addresses with a password or a query. */
function mayBeSecret(text: string): boolean {
  return /[\w+=-]{20,}/.test(text) || KEY.test(text) || /[@?]/.test(text);
}

/** Parts between slashes that mix letters and digits: a password, or a key in Base64. */
function mayBePassword(text: string): boolean {
  return text.includes("/") && text.split("/").some(isMixed);
}

function isMixed(text: string): boolean {
  return /[A-Za-z]/.test(text) && /\d/.test(text);
}

function beginsLikePath(text: string): boolean {
  return /^(\.{0,2}[/\\]|~|[A-Za-z]:)/.test(text);
}

import { MASK } from "./mask.ts";
import { packedTexts, viewsOf } from "./views.ts";

/*
 * Which secrets are looked for where nothing tells that they are secret, and in which forms. What is behind a name such
 * as `password` is often a word of prose or of code: those would be masked all over a session.
 */

/**
 * How a secret was found: `issued` by its own shape, as a key has one; `quoted` behind a name and between quotes, or by
 * a pattern that was given; `bare` behind a name, where code has names of its own.
 */
export type SecretKind = "issued" | "quoted" | "bare";

/** No value is shorter, in UTF-16 units. */
const LEAST = 8;
/** Words of letters alone are longer; and those that only a phrase of several words has are longer still. */
const LEAST_WORD = 10;
const LEAST_PHRASE = 16;
/** Letters of both cases behind a bare name are a name of code, unless there are so many. */
const LEAST_NAME = 32;
/** Part of a key that is a secret by itself. */
const LEAST_TAIL = 12;
const LEAST_PART = 16;
/** Prefixes of keys end within so many units. */
const PREFIX = 40;
/** Of longer ones it is not asked how they look in base64. */
const MOST_PACKED = 256;
/** `********` and the like. */
const LEAST_DIFFERENT = 4;

/** What often stands behind the name of a secret and is none. */
const COMMON = new Set(
  (
    "password passwords passphrase credential credentials placeholder production development undefined application " +
    "authentication authorization configuration environment expression description parameters properties " +
    "same-origin not-set your-password your-secret change-me optional-string"
  ).split(" "),
);
const PATH = /^(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w .@/\\-]*$/;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Whether a secret is so plain that an ordinary word is not taken for it. */
function isSought(value: string, kind: SecretKind): boolean {
  if (value.length < LEAST || new Set(value).size < LEAST_DIFFERENT) return false;
  if (kind !== "issued" && isPlace(value)) return false;
  if (/\d/.test(value)) return true;
  if (!/\p{L}/u.test(value)) return false;
  if (/[^\p{L}\s._:/\\-]/u.test(value)) return true;
  if (kind === "issued") return value.length >= LEAST_PART;
  // A name of code.
  if (/[._]/.test(value)) return false;
  if (/\s/.test(value)) return value.length >= LEAST_PHRASE;
  const isOneCase = value === value.toLowerCase() || value === value.toUpperCase();
  if (!isOneCase && kind === "bare") return value.length >= LEAST_NAME;
  return value.length >= LEAST_WORD && !COMMON.has(value.toLowerCase());
}

/** Whether it is so long and mixed that it is no part of a word, wherever it stands. */
export function isRandom(value: string): boolean {
  return value.length >= LEAST_PART && isMixed(value);
}

/** The forms in which a secret may stand elsewhere: as it is meant, packed, and without what stands before or behind it. */
export function formsOf(value: string, kind: SecretKind): Set<string> {
  const forms = new Set<string>();
  if (value.length < LEAST || value.includes(MASK)) return forms;
  for (const whole of wholes(value)) {
    if (isSought(whole, kind)) {
      forms.add(whole);
      for (const packed of packedForms(whole)) forms.add(packed);
    }
    for (const part of partsOf(whole, kind)) forms.add(part);
  }
  // Basic credentials: a name, and the password.
  for (const { text } of packedTexts(value)) {
    const password = text.slice(text.indexOf(":") + 1);
    if (isSought(password, "quoted")) forms.add(password);
  }
  return forms;
}

/** The value, without the marks of a sentence or of Markdown around it, and all that with its escapes undone. */
function wholes(value: string): Set<string> {
  const found = new Set<string>();
  for (const text of [value, ...Array.from(viewsOf(value), (view) => view.text)]) {
    found.add(text);
    found.add(text.replace(/^[`*_"'([<]+|[`*_"')\]>.,:;!?]+$/g, ""));
  }
  return found;
}

/** In base64, by itself or as a line; without what fills it up. */
function packedForms(value: string): string[] {
  if (value.length > MOST_PACKED) return [];
  return [value, `${value}\n`]
    .map((text) => Buffer.from(text).toString("base64").replace(/=+$/, ""))
    .filter((text) => isMixed(text) && text.length >= LEAST);
}

/** What a key is without its prefix, and each part of it that is long. */
function* partsOf(value: string, kind: SecretKind): Generator<string> {
  if (value.length < LEAST_PART) return;
  const separators = kind === "issued" ? /[-_.:/=]/g : /[:=]/g;
  for (const { index } of value.slice(0, PREFIX).matchAll(separators)) {
    const tail = value.slice(index + 1);
    if (tail.length >= LEAST_TAIL && isMixed(tail)) yield tail;
  }
  // Also the lines of a private key, which are base64.
  for (const part of value.split(kind === "issued" ? /[^A-Za-z0-9+/]+/ : /[^A-Za-z0-9]+/)) {
    const isSecret = kind === "issued" ? isMixed(part) : isMixed(part) && /\d/.test(part);
    if (part.length >= LEAST_PART && isSecret) yield part;
  }
}

/** Letters with digits, or of both cases. */
function isMixed(text: string): boolean {
  return /[A-Za-z]/.test(text) && (/\d/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text)));
}

/** A path or an address, without a part that is a secret itself. */
function isPlace(value: string): boolean {
  if (ADDRESS.test(value)) return true;
  return (
    PATH.test(value) && !value.split(/[/\\]/).some((part) => part.length >= LEAST_PART && /\d/.test(part))
  );
}

/** Where a string of a JSON text stands. */
export interface StringPlace {
  /** Names of the members around it, the outermost first; arrays have none. Of a name the last one is empty. */
  readonly names: readonly string[];
  /** Whether it is itself the name of a member. */
  readonly isName: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * A JSON text with other strings in it. All else stays as it came, to the byte: numbers with all their digits, spaces,
 * members that stand there twice. The text itself where no string changes. It must be JSON.
 * @param map gives the string that stands in the place of this one
 */
export function mapStrings(text: string, map: (value: string, place: StringPlace) => string): string {
  const names: string[] = [];
  /** Of each open array or object, whether it is an object. */
  const open: boolean[] = [];
  const parts: string[] = [];
  let isName = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case "{":
        open.push(true);
        names.push("");
        isName = true;
        break;
      case "[":
        open.push(false);
        isName = false;
        break;
      case "}":
        open.pop();
        names.pop();
        isName = false;
        break;
      case "]":
        open.pop();
        isName = false;
        break;
      case ",":
        isName = open.at(-1) === true;
        break;
      case ":":
        isName = false;
        break;
      case '"': {
        const end = endOfString(text, at + 1);
        const value = unquoted(text.slice(at, end));
        if (isName) names[names.length - 1] = "";
        const mapped = map(value, { names, isName });
        if (isName) names[names.length - 1] = value;
        if (mapped !== value) {
          parts.push(text.slice(from, at), JSON.stringify(mapped));
          from = end;
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** Behind its closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}

function unquoted(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  const value: unknown = JSON.parse(quoted);
  return typeof value === "string" ? value : "";
}

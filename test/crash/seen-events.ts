import { splitObjects } from "./session-read.ts";

/** The log as it was seen so far, event for event as text. What was seen once is acknowledged: it stays for ever. */
export class SeenEvents {
  readonly texts: string[] = [];
  /** As a JSON list has them, to compare all of them at once. */
  #list = "";

  /** Takes events of a JSON list, which may be cut off. @returns the new ones @throws Error when known ones differ */
  takeList(region: string, whole: boolean): { readonly added: readonly string[]; readonly rest: string } {
    if (!whole && this.#list.startsWith(region)) return { added: [], rest: "" };
    if (!region.startsWith(this.#list)) throw this.#difference(splitObjects(region).texts, whole);
    const next = region.charAt(this.#list.length);
    const begins = this.texts.length === 0 ? "{]" : ",]";
    if (whole ? !begins.includes(next) || next === "" : next !== "" && !begins.includes(next)) {
      throw this.#difference(splitObjects(region).texts, whole);
    }
    const { texts: added, end } = splitObjects(region, this.#list.length);
    this.#add(added);
    return { added, rest: region.slice(end) };
  }

  /** Takes a whole log. @returns the new events @throws Error when known ones differ or are missing */
  takeAll(texts: readonly string[]): readonly string[] {
    if (this.texts.some((text, seq) => texts[seq] !== text)) throw this.#difference(texts, true);
    const added = texts.slice(this.texts.length);
    this.#add(added);
    return added;
  }

  #add(texts: readonly string[]): void {
    if (texts.length === 0) return;
    this.#list += `${this.#list === "" ? "" : ","}${texts.join(",")}`;
    for (const text of texts) this.texts.push(text);
  }

  #difference(found: readonly string[], whole: boolean): Error {
    const seq = this.texts.findIndex((text, k) => (whole || k < found.length) && found[k] !== text);
    if (seq < 0) return new Error(`the acknowledged event ${found.length} begins in another way`);
    const now = found[seq] === undefined ? "is gone" : `is now ${clip(found[seq])}`;
    return new Error(`the acknowledged event ${seq} ${now}; it was ${clip(this.texts[seq] ?? "")}`);
  }
}

function clip(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

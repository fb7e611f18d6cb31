import { editDistance } from "../../host/nearest-name.ts";
import { clip } from "../../session/text.ts";
import { printableLine } from "../printable.ts";
import { compareIds } from "./summaries.ts";

const MOST_NAMED = 3;
/** Longest part of an id that is named, in UTF-16 units. */
const LONGEST = 100;
/** Nobody types a longer id, and it would take long to compare. */
const LONGEST_COMPARED = 300;
/** What has fewer characters is the beginning of many an id when one of them is changed. */
const LEAST_OF_BEGINNING = 6;
/** An id whose beginning is near is further away than one that is near itself, which is at most this far. */
const FURTHEST = 2;

/** The ids that are most like one that no session has. They are looked at one by one; those that are named are kept. */
export class NearIds {
  readonly #given: string;
  readonly #limit: number;
  #least = Number.POSITIVE_INFINITY;
  #near: string[] = [];

  constructor(given: string) {
    this.#given = given.toLowerCase();
    // One letter of three may be another one, and two of six.
    this.#limit = Math.min(FURTHEST, Math.floor(given.length / 3)) + 1;
  }

  look(id: string): void {
    if (this.#given.length > LONGEST_COMPARED) return;
    const distance = this.#distanceTo(id.toLowerCase());
    if (distance === undefined || distance > this.#least) return;
    if (distance < this.#least) this.#near = [];
    this.#least = distance;
    if (this.#near.includes(id)) return;
    this.#near = [...this.#near, id].sort(compareIds).slice(0, MOST_NAMED);
  }

  /** Asks whether they were meant; nothing where no id is near. */
  get hint(): string | undefined {
    if (this.#near.length === 0) return undefined;
    const named = this.#near.map((id) => printableLine(clip(id, LONGEST)));
    const last = named.pop() ?? "";
    return `Did you mean ${named.length === 0 ? "" : `${named.join(", ")} or `}${last}?`;
  }

  #distanceTo(id: string): number | undefined {
    const { length } = this.#given;
    const whole = editDistance(this.#given, id, this.#limit);
    if (whole < this.#limit) return whole;
    const limit = length < LEAST_OF_BEGINNING ? 1 : 2;
    const beginnings = [length - 1, length, length + 1].map((end) => id.slice(0, end));
    const least = Math.min(...beginnings.map((part) => editDistance(this.#given, part, limit)));
    return least < limit ? FURTHEST + 1 + least : undefined;
  }
}

import { TORN_END } from "../../store/finding.ts";
import { printableLine } from "../printable.ts";
import type { ListedSession } from "./list.ts";

/** Sessions as a table for people. Pages are formatted as they come, so columns may grow, and never shrink. */
export class SessionTable {
  readonly #hasEvents: boolean;
  readonly #widths: number[] = [];
  #isBegun = false;

  constructor(hasEvents: boolean) {
    this.#hasEvents = hasEvents;
  }

  /** Lines for more sessions, each with its end; before the first ones the heading. */
  format(sessions: readonly ListedSession[]): string {
    const rows = sessions.map((session) => this.#cells(session));
    if (!this.#isBegun) rows.unshift(this.#heading());
    this.#isBegun = true;
    for (const row of rows) {
      for (const [k, cell] of row.entries())
        this.#widths[k] = Math.max(this.#widths[k] ?? 0, Bun.stringWidth(cell));
    }
    return rows.map((row) => `${this.#line(row)}\n`).join("");
  }

  #heading(): string[] {
    return ["ID", "CREATED", ...(this.#hasEvents ? ["EVENTS"] : []), "FOLDER", "STATE"];
  }

  #cells({ id, header, state, reason, events, torn }: ListedSession): string[] {
    const notes = [reason, torn === true ? `the ${TORN_END}` : undefined];
    const told = notes.filter((note) => note !== undefined).join("; ");
    return [
      id,
      header === undefined ? "-" : formatTime(header.createdAt),
      ...(this.#hasEvents ? [events === undefined ? "-" : String(events)] : []),
      header?.cwd ?? "-",
      told === "" ? state : `${state}: ${told}`,
    ].map(printableLine);
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, k) =>
        k === row.length - 1 ? cell : cell + " ".repeat((this.#widths[k] ?? 0) - Bun.stringWidth(cell)),
      )
      .join("  ");
  }
}

const LAST_DATE = 8.64e15;

/** Epoch milliseconds as a person reads them, in UTC; as a number where no calendar goes that far. */
export function formatTime(time: number): string {
  return time > LAST_DATE ? String(time) : new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

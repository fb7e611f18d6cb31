import type { LostEvents, RepairStep, StoreLoss } from "../../store/repairer.ts";
import type { VerifyReport } from "../../store/verify.ts";
import { counted } from "../counted.ts";
import { digestText } from "./digest-text.ts";

/* What a repair of a database cannot bring back, for people and as JSON. */

type Verdict = Extract<VerifyReport, { kind: "session" }>;

/** Events that are gone from a store, and the file that has all that is left of it as it was. */
export class Loss {
  readonly #loss: StoreLoss;
  readonly #backup: string;
  readonly #sessions: ReadonlyMap<string, LostEvents>;

  constructor(loss: StoreLoss, backup: string) {
    this.#loss = loss;
    this.#backup = backup;
    this.#sessions = new Map(loss.sessions.map((session) => [session.id, session]));
  }

  /** What these steps leave; nothing where no events are gone. */
  static of(steps: readonly RepairStep[]): Loss | undefined {
    const step = steps.find(({ kind }) => kind === "store");
    if (step?.kind !== "store") return undefined;
    if (step.lost.sessions.length === 0 && step.lost.unnamed === undefined) return undefined;
    return new Loss(step.lost, step.backup);
  }

  /** Whether it is more than the exit code of a repair that went well may hide. */
  get isGrave(): boolean {
    return this.#loss.pages !== undefined || this.#loss.sessions.some(isWhole);
  }

  /** One line: how much is gone, and where what is left is. */
  text(isDry: boolean): string {
    const { whole, part, perhaps, pages, unnamed } = this.#counts();
    const parts = [
      ...(whole === 0 ? [] : [`all events of ${counted(whole, "session")}`]),
      ...(part === 0 ? [] : [`events of ${counted(part, "session")}`]),
      ...(perhaps === 0 ? [] : [`perhaps the end of ${counted(perhaps, "session")}`]),
      ...(unnamed === undefined ? [] : [`up to ${counted(unnamed, "session")} without a trace`]),
    ];
    const lack = pages === undefined ? "" : `; the file lacks ${counted(pages, "page")}`;
    const kept = isDry ? "the damaged file would be kept as" : "the damaged file is kept as";
    return `lost: ${parts.join(", ")}${lack}; ${kept} ${this.#backup}`;
  }

  json(): object {
    return { lost: { ...this.#counts(), backup: this.#backup } };
  }

  /** What is said of a session in the place of `ok`; nothing where it is sound and whole. */
  sessionText({ id, state, events, digest }: Verdict): string | undefined {
    const lost = this.#sessions.get(id);
    if (lost === undefined || state !== "ok") return undefined;
    if (isWhole(lost)) return `lost ${id}: ${lossText(lost)}`;
    const name = lost.isCertain ? "cut" : "unsure";
    return `${name} ${id}: ${counted(events, "event")}, ${digestText(digest)}; ${lossText(lost)}`;
  }

  /** The same for JSON. */
  sessionJson(verdict: Verdict): object | undefined {
    const lost = this.#sessions.get(verdict.id);
    if (lost === undefined || verdict.state !== "ok") return undefined;
    const state = isWhole(lost) ? "lost" : lost.isCertain ? "cut" : "unsure";
    return { ...verdict, state, lost };
  }

  #counts() {
    const { pages, sessions, unnamed } = this.#loss;
    const whole = sessions.filter(isWhole).length;
    const perhaps = sessions.filter(({ isCertain }) => !isCertain).length;
    return {
      whole,
      part: sessions.length - whole - perhaps,
      perhaps,
      ...(unnamed === undefined ? {} : { unnamed }),
      ...(pages === undefined ? {} : { pages: pages.expected - pages.found }),
    };
  }
}

/** The lines of a step about what it cannot bring back. */
export function lossLines({ pages, sessions, unnamed }: StoreLoss): string[] {
  return [
    ...(pages === undefined ? [] : [`  lost pages: ${pages.expected - pages.found} of ${pages.expected}`]),
    ...sessions.map(
      (session) => `  ${session.isCertain ? "lost" : "unsure"} ${session.id}: ${lossText(session)}`,
    ),
    ...(unnamed === undefined
      ? []
      : [`  lost without a trace: up to ${counted(unnamed, "session")}, unless deleted before`]),
  ];
}

function isWhole({ left, isCertain }: LostEvents): boolean {
  return left === 0 && isCertain;
}

function lossText(lost: LostEvents): string {
  const { left, had, isCertain } = lost;
  const most = had === undefined ? "" : `; it had ${had} or more`;
  if (isWhole(lost)) return `0 events: none of its rows could be read${most}`;
  if (had !== undefined) return `${counted(left, "event")} could be read${most}`;
  const end = isCertain ? "what came behind them is gone" : "whether more came behind them is not known";
  return `${counted(left, "event")} could be read; ${end}`;
}

import { z } from "zod";

const answerSchema = z.looseObject({
  /** Text of the last answer; empty when there was none. */
  message: z.string(),
  reason: z.looseObject({ kind: z.string() }),
});
/** How a Turn ended that was answered: the answer of the HTTP API (docs/http.md), with all of its members. */
export type Answer = z.infer<typeof answerSchema>;

/** An answer as it came; nothing when it is none. */
export function toAnswer(value: unknown): Answer | undefined {
  // The value itself: a parsed one has its members in another order.
  return answerSchema.safeParse(value).success ? (value as Answer) : undefined;
}

/** What happens in a Turn, as far as a person is shown it. */
export type TurnUpdate =
  | {
      readonly kind: "text" | "reasoning";
      readonly text: string;
      /** Texts of the same block belong together. It begins with its Turn and its Step: `2/1/0`. */
      readonly block: string;
    }
  | { readonly kind: "call"; readonly callId: string; readonly name: string; readonly arguments: string }
  | {
      readonly kind: "result";
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
      /** Why the call failed, if it did: a code, or an empty text where none is known. */
      readonly failure?: string;
    }
  /** A model request failed and is made again after `delayMs` milliseconds. */
  | { readonly kind: "retry"; readonly message: string; readonly delayMs: number }
  /** The last one. */
  | { readonly kind: "done"; readonly answer: Answer };

export interface TurnOptions {
  /** Whether to tell what happens in the Turn as it happens, or only how it ended. */
  readonly live: boolean;
  /** Cancels the Turn. How it ended is still told; one that has not begun leaves no trace. */
  readonly signal: AbortSignal;
}

/** What Turns are run with: a Host over HTTP, or an agent in this process. One Turn at a time. */
export interface TurnSource {
  /**
   * Runs one Turn, and tells what happens in it.
   * @throws HoldfastError with the code of a problem of the HTTP API when there is no answer
   */
  run(input: string, options: TurnOptions): AsyncIterable<TurnUpdate>;
}

/** Something that shows a Turn while it runs. */
export interface TurnView {
  show(update: TurnUpdate): Promise<void>;
  /** Ends what stands open, whatever happened. */
  end(): Promise<void>;
}

/** Runs one Turn, shows it, and returns its answer. @throws what the source throws */
export async function runTurn(
  source: TurnSource,
  input: string,
  view: TurnView | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    for await (const update of source.run(input, { live: view !== undefined, signal })) {
      await view?.show(update);
      if (update.kind === "done") return update.answer;
    }
  } finally {
    await view?.end();
  }
  throw new Error("a source of Turns ended without an answer");
}

/** Why a Turn ended before the model was done; nothing when it was. */
export function earlyEnd({ reason }: Answer): string | undefined {
  if (reason.kind === "completed") return undefined;
  const error = reason["error"];
  const message = typeof error === "object" && error !== null ? Reflect.get(error, "message") : undefined;
  return `the Turn ended early: ${typeof message === "string" ? message : reason.kind}`;
}

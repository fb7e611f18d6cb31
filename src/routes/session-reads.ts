import type { Session } from "../session/session.ts";
import { breathe } from "../store/breathe.ts";
import { PIECE, packed } from "./listed-bytes.ts";
import { PROTECTED_JSON } from "./protection.ts";
import { SessionText } from "./session-text.ts";

/** How long after a read what it wrote is kept. */
const KEPT_MS = 10_000;

/** Answers with the session as it is when it is asked for: whole where it is short, else a piece at a time. */
export class SessionReads {
  readonly #session: Session;
  /** The latest answer, if it is short; a new record makes a new one. */
  #short: { readonly recordCount: number; readonly body: string | undefined };
  #text: SessionText | undefined;
  #forget: ReturnType<typeof setTimeout> | undefined;

  constructor(session: Session) {
    this.#session = session;
    this.#short = { recordCount: -1, body: undefined };
  }

  read(): Response {
    const { recordCount } = this.#session.log;
    if (recordCount !== this.#short.recordCount) this.#short = { recordCount, body: this.#whole() };
    return new Response(this.#short.body ?? this.#stream(), { headers: PROTECTED_JSON });
  }

  /** The answer, if it fits into one piece. As a string it need not be copied for each reader. */
  #whole(): string | undefined {
    if (this.#session.log.length > PIECE) return undefined;
    const pieces = packed(new SessionText(this.#session).parts());
    const text = new TextDecoder().decode(pieces.next().value);
    return pieces.next().done === true ? text : undefined;
  }

  /** Whoever reads a session is likely to read it again when it has grown, and others with it. */
  #kept(): SessionText {
    clearTimeout(this.#forget);
    this.#forget = setTimeout(() => {
      // A collection may be long in coming where nothing else happens, and the next reader writes it all anew.
      this.#text?.release();
      this.#text = undefined;
    }, KEPT_MS).unref();
    this.#text ??= new SessionText(this.#session);
    return this.#text;
  }

  #stream(): ReadableStream {
    const pieces = packed(this.#kept().parts());
    let isOpen = true;
    return new ReadableStream({
      type: "direct",
      async pull(controller) {
        for (const piece of pieces) {
          // The piece was copied when this returns, and its reader has room for another one when it is awaited.
          await controller.write(piece);
          if (!isOpen) return;
          // Bun goes on without a pause; other requests and timers get their turn in between.
          await breathe();
        }
        controller.close();
      },
      cancel() {
        isOpen = false;
        pieces.return(undefined);
      },
    });
  }
}

import { openStore } from "../../store/open-store.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";

/** The store that is written, opened with its lock when the first session is to be written: none is made for nothing. */
export class LazyStore implements AsyncDisposable {
  readonly #name: StoreName;
  readonly #encoding: "zstd" | "none" | undefined;
  #store: Promise<SessionPersistence> | undefined;
  #failure: unknown;

  /** @param encoding of session logs that are made in it */
  constructor(name: StoreName, encoding: "zstd" | "none" | undefined) {
    this.#name = name;
    this.#encoding = encoding;
  }

  /** Whether it is open, or was tried to be. */
  get isAsked(): boolean {
    return this.#store !== undefined;
  }

  /** Why it could not be opened. */
  get failure(): unknown {
    return this.#failure;
  }

  /** @throws as `openStore` (src/store/open-store.ts), each time */
  open(): Promise<SessionPersistence> {
    const encoding = this.#encoding === undefined ? {} : { encoding: this.#encoding };
    const options = { clock: Date.now, chunkWindowMs: 0, thread: "process", ...encoding } as const;
    this.#store ??= openStore(this.#name, options).catch((error: unknown) => {
      this.#failure = error;
      throw error;
    });
    return this.#store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Why it could not be opened was told to whoever asked for it.
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }
}

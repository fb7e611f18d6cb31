import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";
import { errorFromWire } from "./error-wire.ts";
import { ClosedError, type HoldfastError, StorageFailedError } from "./errors.ts";
import {
  type Call,
  decodeReply,
  encodeRequest,
  type Result,
  toOutcomes,
  type WriterSpec,
} from "./storage-protocol.ts";
import { type BackendWriter, TIDY_MS } from "./writer.ts";

/** A backend's writer, wherever it runs. Calls are carried out in order. */
export interface StorageClient {
  appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]>;
  commitRepair(id: string, repair: Repair): Promise<Revision>;
  delete(id: string): Promise<boolean>;
  settle(id: string): Promise<void>;
  checkWritable(): Promise<void>;
  /** Waits for calls under way, closes the writer and ends the thread. Safe to call twice. */
  close(): Promise<void>;
}

/** Runs the writer on the calling thread: the same code without a thread, for tests and short commands. */
export function runInProcess(writer: BackendWriter): StorageClient {
  let timer: NodeJS.Timeout | undefined;
  const tidyIn = (ms: number | undefined) => {
    if (ms === undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      tidyIn(writer.tidy?.());
    }, ms);
    // No reason for a process to stay.
    timer.unref();
  };
  const call = <T>(task: () => T): T => {
    if (writer.tidy !== undefined && timer === undefined) tidyIn(TIDY_MS);
    return task();
  };
  return {
    appendBatch: async (batches) => call(() => writer.appendBatch(batches)),
    commitRepair: async (id, repair) => call(() => writer.commitRepair(id, repair)),
    delete: async (id) => call(() => writer.delete(id)),
    settle: async (id) => writer.settle?.(id),
    checkWritable: async () => writer.checkWritable(),
    close: async () => {
      clearTimeout(timer);
      writer.close();
    },
  };
}

/** In the executable the worker is an entry point of its own, named after its source below the bundle's root. */
function workerLocation(): string {
  const isCompiled = import.meta.url.includes("/$bunfs/") || import.meta.url.includes("/~BUN/");
  return new URL(isCompiled ? "./store/storage-worker.js" : "./storage-worker.ts", import.meta.url).href;
}

/** Where the workers of storage threads come from, and where they go when a store was closed as it should be. */
export interface StorageWorkers {
  /** A worker that runs storage-worker.ts and has no store open. */
  take(): Worker;
  giveBack(worker: Worker): void;
}

/** A worker for each store, which ends with it. */
export const NEW_WORKERS: StorageWorkers = {
  take: () => new Worker(workerLocation()),
  giveBack: (worker) => void worker.terminate(),
};

/** A storage thread, which starts at once. It takes calls after {@link StorageThread.open}. */
export class StorageThread implements StorageClient, AsyncDisposable {
  readonly #workers: StorageWorkers;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #counter: Int32Array<SharedArrayBuffer>;
  readonly #calls = new Map<number, PromiseWithResolvers<Result>>();
  #number = 0;
  #dead: HoldfastError | undefined;
  #closing: Promise<void> | undefined;
  #open = false;

  /** @param kind of the writer that it will open */
  constructor(kind: WriterSpec["kind"], workers = NEW_WORKERS) {
    this.#workers = workers;
    this.#worker = workers.take();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    // Only raised by this thread, and slept on by the other.
    this.#counter = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#worker.postMessage({ port: port2, counter: this.#counter, kind }, [port2]);
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => this.#settle(data);
    this.#worker.onerror = (event) => this.#die(event.message);
    this.#worker.addEventListener("close", () => this.#die("it ended"));
  }

  /** Opens the writer on the thread. @throws what opening threw; the thread is of no use then */
  async open(spec: WriterSpec): Promise<void> {
    await this.call({ method: "open", spec });
    this.#open = true;
  }

  async appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]> {
    return toOutcomes(await this.call({ method: "appendBatch", batches }));
  }

  async commitRepair(id: string, repair: Repair): Promise<Revision> {
    return String(await this.call({ method: "commitRepair", id, repair }));
  }

  async delete(id: string): Promise<boolean> {
    return (await this.call({ method: "delete", id })) === true;
  }

  async settle(id: string): Promise<void> {
    await this.call({ method: "settle", id });
  }

  async checkWritable(): Promise<void> {
    if (this.#dead !== undefined) throw this.#dead;
    await this.call({ method: "checkWritable" });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  call(call: Call): Promise<Result> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    const reply = Promise.withResolvers<Result>();
    this.#number += 1;
    this.#calls.set(this.#number, reply);
    this.#port.postMessage(encodeRequest({ number: this.#number, call }));
    Atomics.add(this.#counter, 0, 1);
    Atomics.notify(this.#counter, 0);
    return reply.promise;
  }

  terminate(): void {
    this.#end();
    this.#worker.terminate();
  }

  #end(): void {
    this.#dead ??= new ClosedError();
    this.#port.close();
  }

  async #close(): Promise<void> {
    if (!this.#open || this.#dead !== undefined) return this.terminate();
    try {
      await this.call({ method: "close" });
    } catch (error) {
      this.terminate();
      throw error;
    }
    this.#end();
    this.#workers.giveBack(this.#worker);
  }

  #settle(data: string): void {
    const reply = decodeReply(data);
    const call = this.#calls.get(reply.number);
    this.#calls.delete(reply.number);
    if ("error" in reply) call?.reject(errorFromWire(reply.error));
    else call?.resolve(reply.result);
  }

  /** A thread that is gone is a failed store: everything under way fails, and so does whatever comes. */
  #die(reason: string): void {
    this.#dead ??= new StorageFailedError(`The storage thread stopped: ${reason}`, {
      hint: "Restart the program. What was acknowledged is safe; look at the log for the cause.",
    });
    for (const call of this.#calls.values()) call.reject(this.#dead);
    this.#calls.clear();
  }
}

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

/*
 * The write + fdatasync loop on a thread of its own, which is asked for one write after the other and answers each: what a
 * Host that must not stall while the disk works can reach at most. Woken as the storage thread is.
 */

declare const self: Worker;

interface Start {
  readonly port: MessagePort;
  readonly counter: Int32Array;
  readonly path: string;
}

if (!Bun.isMainThread) self.onmessage = ({ data }: MessageEvent<Start>) => serve(data);

function serve({ port, counter, path }: Start): void {
  const file = openSync(path, "w");
  for (;;) {
    const seen = Atomics.load(counter, 0);
    const message: { readonly message: string } | undefined = receiveMessageOnPort(port);
    if (message === undefined) {
      Atomics.wait(counter, 0, seen);
      continue;
    }
    if (message.message === "") break;
    writeSync(file, message.message);
    fdatasyncSync(file);
    self.postMessage("");
  }
  closeSync(file);
}

/** Writes `text` and waits for its sync, `count` times. Returns syncs a second. */
export async function threadSyncRate(path: string, text: string, count: number): Promise<number> {
  const worker = new Worker(import.meta.url);
  const { port1, port2 } = new MessageChannel();
  const counter = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  worker.postMessage({ port: port2, counter, path }, [port2]);
  const send = (message: string) => {
    port1.postMessage(message);
    Atomics.add(counter, 0, 1);
    Atomics.notify(counter, 0);
  };
  const once = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.onmessage = () => resolve();
    send(text);
    return promise;
  };
  // The first ones wait for the thread, and for its code to become quick.
  for (let n = 0; n < 500; n += 1) await once();
  const start = performance.now();
  for (let n = 0; n < count; n += 1) await once();
  const rate = (count / (performance.now() - start)) * 1000;
  send("");
  port1.close();
  worker.terminate();
  return rate;
}

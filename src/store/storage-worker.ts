import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { errorToWire } from "./error-wire.ts";
import { ClosedError } from "./errors.ts";
import {
  decodeRequest,
  encodeReply,
  perform,
  type Reply,
  type Request,
  type Result,
  type ThreadStart,
  type WriterSpec,
} from "./storage-protocol.ts";
import { type BackendWriter, TIDY_MS } from "./writer.ts";

/*
 * The storage thread: blocking writes and syncs happen here, so that a slow disk stalls neither HTTP nor a stream. It
 * sleeps on a counter that the main thread raises with each request, which wakes it in half the time that its event
 * loop would take.
 */

declare const self: Worker;

let writer: BackendWriter | undefined;

self.onmessage = async ({ data }: MessageEvent<ThreadStart>) => {
  const { port, counter, kind } = data;
  // Only the writer that is used is loaded.
  const openWriter = await writerFor(kind);
  let tidyAt = Number.POSITIVE_INFINITY;
  for (;;) {
    const seen = Atomics.load(counter, 0);
    const request = receive(port);
    if (request === undefined) Atomics.wait(counter, 0, seen, Math.max(0, tidyAt - performance.now()));
    else {
      self.postMessage(encodeReply(answer(request, openWriter)));
      // A thread that is kept is started once more for another store.
      if (request.call.method === "close") return;
      if (writer?.tidy !== undefined) tidyAt = Math.min(tidyAt, performance.now() + TIDY_MS);
    }
    // Also while calls come one after the other: a store that is never idle needs it most.
    if (performance.now() >= tidyAt) {
      tidyAt = performance.now() + (writer?.tidy?.() ?? Number.POSITIVE_INFINITY);
    }
  }
};

function receive(port: MessagePort): Request | undefined {
  const message: { readonly message: string } | undefined = receiveMessageOnPort(port);
  return message === undefined ? undefined : decodeRequest(message.message);
}

function answer({ number, call }: Request, openWriter: OpenWriter): Reply {
  try {
    return { number, result: handle(call, openWriter) };
  } catch (error) {
    return { number, error: errorToWire(error) };
  }
}

function handle(call: Request["call"], openWriter: OpenWriter): Result {
  if (call.method === "open") {
    writer = openWriter(call.spec);
    return null;
  }
  if (writer === undefined) throw new ClosedError();
  const result = perform(writer, call);
  if (call.method === "close") writer = undefined;
  return result;
}

type OpenWriter = (spec: WriterSpec) => BackendWriter;

async function writerFor(kind: WriterSpec["kind"]): Promise<OpenWriter> {
  if (kind === "jsonl") {
    const { JsonlWriter } = await import("./jsonl/writer.ts");
    return (spec) => {
      if (spec.kind !== "jsonl") throw otherKind(spec);
      return new JsonlWriter(spec.root, spec.encoding);
    };
  }
  const { SqliteWriter } = await import("./sqlite/writer.ts");
  return (spec) => {
    if (spec.kind !== "sqlite") throw otherKind(spec);
    return new SqliteWriter(spec.path, spec.leastQuoted);
  };
}

function otherKind({ kind }: WriterSpec): TypeError {
  return new TypeError(`a storage thread of another kind was asked to open ${kind}`);
}

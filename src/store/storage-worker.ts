import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { errorToWire } from "./error-wire.ts";
import { ClosedError } from "./errors.ts";
import { JsonlWriter } from "./jsonl/writer.ts";
import { SqliteWriter } from "./sqlite/writer.ts";
import {
  decodeRequest,
  encodeReply,
  perform,
  type Reply,
  type Request,
  type Result,
  type WriterSpec,
} from "./storage-protocol.ts";
import type { BackendWriter } from "./writer.ts";

/*
 * The storage thread: blocking writes and syncs happen here, so that a slow disk stalls neither HTTP nor a stream. It
 * sleeps on a counter that the main thread raises with each request, which wakes it in half the time that its event
 * loop would take.
 */

declare const self: Worker;

let writer: BackendWriter | undefined;

self.onmessage = ({ data }: MessageEvent<{ readonly port: MessagePort; readonly counter: Int32Array }>) => {
  const { port, counter } = data;
  for (;;) {
    const seen = Atomics.load(counter, 0);
    const request = receive(port);
    if (request === undefined) Atomics.wait(counter, 0, seen);
    else {
      self.postMessage(encodeReply(answer(request)));
      if (request.call.method === "close") return;
    }
  }
};

function receive(port: MessagePort): Request | undefined {
  const message: { readonly message: string } | undefined = receiveMessageOnPort(port);
  return message === undefined ? undefined : decodeRequest(message.message);
}

function answer({ number, call }: Request): Reply {
  try {
    return { number, result: handle(call) };
  } catch (error) {
    return { number, error: errorToWire(error) };
  }
}

function handle(call: Request["call"]): Result {
  if (call.method === "open") {
    writer = openWriter(call.spec);
    return null;
  }
  if (writer === undefined) throw new ClosedError();
  const result = perform(writer, call);
  if (call.method === "close") writer = undefined;
  return result;
}

function openWriter(spec: WriterSpec): BackendWriter {
  return spec.kind === "sqlite" ? new SqliteWriter(spec.path) : new JsonlWriter(spec.root, spec.encoding);
}

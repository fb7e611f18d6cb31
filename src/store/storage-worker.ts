import { errorToWire } from "./error-wire.ts";
import { ClosedError } from "./errors.ts";
import { SqliteWriter } from "./sqlite/writer.ts";
import { perform, type Reply, type Request, type Result, type WriterSpec } from "./storage-protocol.ts";
import type { BackendWriter } from "./writer.ts";

/* The storage thread: blocking writes and syncs happen here, so that a slow disk stalls neither HTTP nor a stream. */

declare const self: Worker;

let writer: BackendWriter | undefined;

function openWriter(spec: WriterSpec): BackendWriter {
  return new SqliteWriter(spec.path);
}

function handle({ call }: Request): Result {
  if (call.method === "open") {
    writer = openWriter(call.spec);
    return null;
  }
  if (writer === undefined) throw new ClosedError();
  const result = perform(writer, call);
  if (call.method === "close") writer = undefined;
  return result;
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  const request: Request = JSON.parse(data);
  const { number } = request;
  self.postMessage(JSON.stringify(answer(number, request)));
};

function answer(number: number, request: Request): Reply {
  try {
    return { number, result: handle(request) };
  } catch (error) {
    return { number, error: errorToWire(error) };
  }
}

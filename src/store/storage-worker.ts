import { errorToWire } from "./error-wire.ts";
import { ClosedError } from "./errors.ts";
import { SqliteWriter } from "./sqlite/writer.ts";
import { perform, type Request, type WriterSpec } from "./storage-protocol.ts";
import type { BackendWriter } from "./writer.ts";

/* The storage thread: blocking writes and syncs happen here, so that a slow disk stalls neither HTTP nor a stream. */

declare const self: Worker;

let writer: BackendWriter | undefined;

function openWriter(spec: WriterSpec): BackendWriter {
  return new SqliteWriter(spec.path);
}

function handle({ call }: Request): unknown {
  if (call.method === "open") {
    writer = openWriter(call.spec);
    return null;
  }
  if (writer === undefined) throw new ClosedError();
  const result = perform(writer, call);
  if (call.method === "close") writer = undefined;
  return result ?? null;
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  // Only this program's own main thread talks here, with messages made from the same types.
  const request: Request = JSON.parse(data);
  const { number } = request;
  try {
    self.postMessage(JSON.stringify({ number, result: handle(request) }));
  } catch (error) {
    self.postMessage(JSON.stringify({ number, result: null, error: errorToWire(error) }));
  }
};

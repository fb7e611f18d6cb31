import { findJsonFault } from "../session/json.ts";
import { RequestError } from "./request-error.ts";

/** Largest request body, in bytes. */
export const MAX_BODY = 8 * 1024 * 1024;

/**
 * Reads a body as JSON. Only what is declared as JSON is read: a form, which any web page may send anywhere, is refused
 * whatever stands in it. The limit is kept here, since the HTTP server's own one answers without a problem.
 * @throws RequestError
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const { headers } = request;
  if (mediaType(headers.get("content-type")) !== "application/json") {
    throw new RequestError(
      "unsupported-media-type",
      "The body must be JSON.",
      "Send `Content-Type: application/json`.",
    );
  }
  if (Number(headers.get("content-length")) > MAX_BODY) throw tooLarge();
  const body = parse(await readBounded(request.body));
  // Before its schema: what breaks that is written out again, which takes seconds and then overflows the stack.
  const fault = findJsonFault(body);
  if (fault !== undefined) throw invalid(`The body holds ${fault.problem}.`);
  return body;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // No UTF-8, or no JSON.
    throw invalid("The body is not valid JSON.");
  }
}

function invalid(message: string): RequestError {
  return new RequestError("invalid-request", message, "Send one JSON object in UTF-8.");
}

/** `Application/JSON; charset=utf-8` → `application/json`. */
function mediaType(header: string | null): string {
  return (header?.split(";")[0] ?? "").trim().toLowerCase();
}

/** A body without a declared length is counted as it comes. */
async function readBounded(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): RequestError {
  return new RequestError("too-large", `The body is larger than ${MAX_BODY} bytes.`, "Send less at once.");
}

import { badResponse } from "./errors.ts";

/** The part of `fetch` that the provider uses. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** More than any answer of a model; a server that sends more is out of order. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * A fetch that sends exactly the headers of this list, whatever the client library or its environment variables add,
 * follows no redirect (the key stays with the host it was meant for), and bounds the bytes of the answer.
 */
export function createTransport(send: Fetch, apiKey: string | undefined): Fetch {
  return async (input, init) => {
    const response = await send(input, {
      ...init,
      headers: {
        accept: "text/event-stream",
        "content-type": "application/json",
        "user-agent": "holdfast",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: "manual",
    });
    return bounded(response);
  };
}

function bounded(response: Response): Response {
  if (response.body === null) return response;
  let received = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      received += bytes.byteLength;
      if (received > MAX_RESPONSE_BYTES) {
        controller.error(badResponse(`The provider's answer is larger than ${MAX_RESPONSE_BYTES} bytes`));
      } else controller.enqueue(bytes);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
}

/**
 * A body that is made a piece at a time, when the client has room for it. `next` gives a piece, or nothing at the end;
 * `left` is called when the client goes away before that. Bun asks for piece after piece without a pause: `next` lets
 * others have their turn.
 */
export function pullStream(
  next: () => Promise<string | undefined>,
  left: () => void = () => undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOpen = true;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await next();
        if (!isOpen) return;
        if (piece === undefined) controller.close();
        else controller.enqueue(encoder.encode(piece));
      },
      cancel() {
        isOpen = false;
        left();
      },
    },
    { highWaterMark: 0 },
  );
}

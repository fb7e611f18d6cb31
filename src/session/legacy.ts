/*
 * Shapes that older writers of version 0 left, read as today's vocabulary (docs/format.md, "Older logs"). The stored
 * text stays as it is, and nothing writes these shapes. Messages stay without an id here; the model's history gives
 * them one.
 */

type Row = Readonly<Record<string, unknown>>;

function asRow(value: unknown): Row | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Row) : undefined;
}

/** The event in today's shape: `row` itself, unless it has one of the older shapes. */
export function modernise(row: Row): Row {
  const data = asRow(row["data"]);
  if (data === undefined) return row;
  switch (row["type"]) {
    case "steering/message":
      return { ...row, type: "user/message", data: steeringMessage(data) };
    case "user/message":
      return "role" in data || "id" in data ? row : { ...row, data: { ...data, role: "user" } };
    case "turn/start":
      return "trigger" in data ? { ...row, data: without(data, "trigger") } : row;
    case "turn/end":
      return withData(row, turnEnd(data));
    case "assistant/message":
      return withData(row, assistantMessage(data));
    case "tool/result":
      return withData(row, toolResult(data));
    default:
      return row;
  }
}

function withData(row: Row, data: Row | undefined): Row {
  return data === undefined ? row : { ...row, data };
}

function without(data: Row, key: string): Row {
  const { [key]: _, ...rest } = data;
  return rest;
}

function steeringMessage(data: Row): Row {
  return asRow(data["message"]) ?? { ...without(data, "turn"), role: "user" };
}

function assistantMessage(data: Row): Row | undefined {
  const { content, provenance, ...rest } = data;
  if ("message" in data || content === undefined || provenance === undefined) return undefined;
  const source = { ...asRow(provenance), kind: "model" };
  return { ...rest, message: { role: "assistant", content, source } };
}

function toolResult(data: Row): Row | undefined {
  const { callId, content, isError, ...rest } = data;
  if ("message" in data || callId === undefined || content === undefined || isError === undefined)
    return undefined;
  const block = { type: "tool-result", toolCallId: callId, content, isError };
  return { ...rest, message: { role: "user", content: [block], source: { kind: "tool", callId } } };
}

/** `aborted` without a cause, `disposed` as a kind of its own, and errors told beside the Step instead of in `error`. */
function turnEnd(data: Row): Row | undefined {
  const reason = asRow(data["reason"]);
  if (reason === undefined) return undefined;
  switch (reason["kind"]) {
    case "aborted":
      return "reason" in reason ? undefined : { ...data, reason: { ...reason, reason: { kind: "legacy" } } };
    case "disposed":
      return { ...data, reason: { kind: "aborted", reason: { kind: "disposed" } } };
    case "error": {
      if ("error" in reason || !("step" in reason)) return undefined;
      const { message, code = "UNKNOWN", failure = { message, code } } = reason;
      return { ...data, reason: { kind: "error", error: failure } };
    }
    default:
      return undefined;
  }
}

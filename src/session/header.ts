import { z } from "zod";
import { CorruptError, type Place, UnsupportedFormatError } from "./errors.ts";
import { findJsonFault, freezeJson } from "./json.ts";
import { compileChecker } from "./schema-checker.ts";
import { SESSION_VERSION } from "./version.ts";

const safeNatural = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

// Key order is the order on disk.
const headerSchema = z.object({
  version: z.literal(SESSION_VERSION),
  id: z.string().min(1),
  createdAt: safeNatural,
  cwd: z.string().exactOptional(),
  parentSession: z.string().exactOptional(),
  seedLength: safeNatural.exactOptional(),
  origin: z.string().exactOptional(),
  delegationDepth: safeNatural.exactOptional(),
  agentPreset: z.string().exactOptional(),
});

/**
 * Metadata of a session that is not replayable conversation. Immutable; never an event, never sent to a model.
 * `createdAt` is in epoch milliseconds; `seedLength` counts the events that a fork took over from its parent.
 */
export type SessionHeader = Readonly<z.infer<typeof headerSchema>>;

const checkHeader = compileChecker(headerSchema);
/** The members that this version knows, in the order of the format. */
export const HEADER_MEMBERS = Object.keys(headerSchema.shape) as ReadonlyArray<keyof SessionHeader>;

/** Quick: zod is asked only for the reason of a refusal. */
function isHeader(value: unknown): value is SessionHeader {
  return checkHeader(value);
}

function knownMembers(header: SessionHeader): SessionHeader {
  const { version, id, createdAt } = header;
  const optional = HEADER_MEMBERS.filter((key) => header[key] !== undefined).map((key) => [key, header[key]]);
  return { version, id, createdAt, ...Object.fromEntries(optional) };
}

/** The header as one JSON object, keys in the order of the format. */
export function serialiseHeader(header: SessionHeader): string {
  return JSON.stringify(knownMembers(header));
}

/**
 * The header of a session that is made now: it says its delegation depth, since a log file must, and an empty `cwd`
 * counts as none, since dsh lists nothing of a root that holds one.
 * @throws CorruptError naming the member that is wrong.
 */
export function newHeader(value: SessionHeader): SessionHeader {
  const { cwd, ...header } = parseHeader(value);
  const place = cwd === undefined || cwd === "" ? {} : { cwd };
  return parseHeader({ ...header, ...place, delegationDepth: header.delegationDepth ?? 0 });
}

/**
 * Checks a header and keeps the members that this version knows, in the order of the format.
 * @throws CorruptError naming the member that is wrong.
 */
export function parseHeader(value: unknown, place: Place = {}): SessionHeader {
  if (isHeader(value)) return freezeJson(knownMembers(value));
  const result = headerSchema.safeParse(value);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new CorruptError("The session header is malformed", {
      expected: "a version 0 session header",
      found: issue === undefined ? "another shape" : `${issue.path.join(".") || "value"}: ${issue.message}`,
      place,
    });
  }
  return freezeJson(result.data);
}

/**
 * Reads a stored header. The version is looked at before any shape.
 * @throws UnsupportedFormatError for another version; CorruptError for anything else that is wrong.
 */
export function decodeHeader(text: string, place: Place): SessionHeader {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CorruptError("The session header is not JSON", {
      expected: "a JSON object",
      found: JSON.stringify(text.slice(0, 40)),
      place,
      cause,
    });
  }
  const version =
    typeof value === "object" && value !== null && "version" in value ? value.version : undefined;
  if (typeof version === "number" && version !== SESSION_VERSION) {
    const newer = version > SESSION_VERSION;
    throw new UnsupportedFormatError(
      `The session has format version ${version}; this program reads version 0`,
      {
        place,
        hint: newer ? "Use a newer version of Holdfast for it." : "There is no path from this older version.",
      },
    );
  }
  const fault = findJsonFault(value);
  if (fault !== undefined) {
    throw new CorruptError("The session header is malformed", {
      expected: "lossless JSON",
      found: fault.problem,
      place,
    });
  }
  return parseHeader(value, place);
}

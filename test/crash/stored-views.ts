import { z } from "zod";
import { NotFoundError, StoreNotFoundError } from "../../src/store/errors.ts";
import { openStoreReadOnly } from "../../src/store/open-store.ts";
import { runHoldfast } from "../fixtures/executable.ts";
import type { StorePlace } from "./store-place.ts";

const shownSchema = z.looseObject({
  header: z.unknown(),
  events: z.number(),
  digest: z.string(),
  torn: z.boolean(),
  unknownTypes: z.array(z.unknown()),
  closers: z.array(z.unknown()),
  problem: z.unknown().optional(),
  usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
  transcript: z.array(z.looseObject({ seq: z.number() })),
});

export type Shown = z.infer<typeof shownSchema>;

/** A session of a store that no Host has open: as a fresh full read has it, and in a form that the program shows. */
export interface StoredViews {
  readonly fresh: FreshRead;
  /** Output of `show --events`. */
  readonly lines?: string;
  /** What `show --json` prints. */
  readonly shown?: Shown;
}

export interface FreshRead {
  readonly header: unknown;
  readonly texts: readonly string[];
  readonly closers: readonly unknown[];
  readonly torn: boolean;
  /** Tokens of the closed view. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  /** Entries of the closed view as JSON, each with the seq it stands at. */
  readonly transcript: ReadonlyArray<{ readonly seq: number; readonly text: string }>;
}

/** Reads the session in both ways at once; nothing when both find none. @throws Error when they do not agree */
export async function readViews(
  place: StorePlace,
  form: "events" | "json",
): Promise<StoredViews | undefined> {
  const name = `${place.name.kind}:${place.path}`;
  const [{ code, stdout, stderr }, fresh] = await Promise.all([
    runHoldfast(["sessions", "show", "default", name, `--${form}`]),
    readFresh(place),
  ]);
  if (code === NOT_FOUND && fresh === undefined) return undefined;
  if (code !== 0) throw new Error(`the session cannot be shown: exit code ${code}, ${stderr}`);
  if (fresh === undefined) throw new Error("the library finds no session");
  return form === "events"
    ? { fresh, lines: stdout }
    : { fresh, shown: shownSchema.parse(JSON.parse(stdout)) };
}

/** Exit code of `sessions show`. */
const NOT_FOUND = 3;

async function readFresh({ name }: StorePlace): Promise<FreshRead | undefined> {
  try {
    await using store = await openStoreReadOnly(name, { clock: () => 0 });
    const { header, log, closers, torn, projections } = await store.inspect("default");
    return {
      header,
      texts: [...log.texts(0, log.length - closers.length)],
      closers,
      torn,
      usage: projections.usage.total,
      transcript: Array.from(projections.transcript(log), (entry) => ({
        seq: entry.seq,
        text: JSON.stringify(entry),
      })),
    };
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof StoreNotFoundError) return undefined;
    throw error;
  }
}

import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { HoldfastError } from "./errors.ts";
import { makeDirectory } from "./paths.ts";
import { PrivateFile } from "./private-file.ts";
import type { StoreName } from "./store-name.ts";
import { trashOf } from "./trash.ts";

const NAME = "purge.json";
const OWN = /^(\.purge\.json\.partial-\w+|purge\.json)$/;
const noteSchema = z.array(z.string());

/**
 * The ids that a command was told to delete for good, kept in the trash folder until it is done: a session that is gone
 * for good leaves nothing else by which the same command, run again after a kill, could tell its id from a slip. It is
 * kept as far as the folder can be written. The caller of what writes holds the lock of the store.
 */
export class PurgeNote {
  readonly #path: string;
  #ids: ReadonlySet<string> | undefined;

  constructor(store: StoreName) {
    this.#path = join(trashOf(store), NAME);
  }

  has(id: string): boolean {
    this.#ids ??= this.#read();
    return this.#ids.has(id);
  }

  /** Durable when it returns, beside what is noted already. */
  async add(ids: readonly string[]): Promise<void> {
    const all = new Set([...this.#read(), ...ids]);
    try {
      makeDirectory(dirname(this.#path));
      using file = new PrivateFile(this.#path, { replace: true });
      await file.write(JSON.stringify([...all]));
      file.publish();
    } catch (error) {
      // Without it all can be deleted as well; only a second run after a kill is less easy.
      if (!(error instanceof HoldfastError)) throw error;
    }
  }

  /** Removes it, and the trash folder where nothing else is in it. */
  drop(): void {
    const trash = dirname(this.#path);
    try {
      // Drafts, too, of which a kill leaves one.
      for (const name of readdirSync(trash)) if (OWN.test(name)) rmSync(join(trash, name), { force: true });
      rmdirSync(trash);
    } catch {
      // There is more in the trash, or none at all.
    }
  }

  #read(): ReadonlySet<string> {
    try {
      return new Set(noteSchema.parse(JSON.parse(readFileSync(this.#path, "utf8"))));
    } catch {
      return new Set();
    }
  }
}

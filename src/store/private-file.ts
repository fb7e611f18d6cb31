import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { errorCode, HoldfastError, toStorageError } from "./errors.ts";
import { closeFile, type FileSystem, SYSTEM, writeAll } from "./file-system.ts";
import { syncIfAllowed } from "./paths.ts";

const ENCODER = new TextEncoder();
/** Text is written in pieces of about this size. */
const PIECE = 256 * 1024;

/** Where a file was to be written, there is one. Nothing was changed. */
class FileExistsError extends HoldfastError {
  readonly code = "already-exists";

  constructor(path: string) {
    super("There is a file already", {
      place: { path },
      hint: "Name another one, or say --force to replace it.",
    });
  }
}

/**
 * A new file that only its user can read, whatever the umask. It is written under another name and gets its own when it
 * is whole and on the disk: until then nothing is seen of it, and disposing removes it.
 */
export class PrivateFile implements Disposable {
  readonly path: string;
  readonly #draft: string;
  readonly #isReplacing: boolean;
  readonly #system: FileSystem;
  #file: number | undefined;
  #pending: string[] = [];
  #length = 0;
  #bytes = 0;

  /** @throws FileExistsError unless `replace` is set; StorageFailedError */
  constructor(path: string, options: { readonly replace: boolean; readonly system?: FileSystem }) {
    this.path = resolve(path);
    this.#isReplacing = options.replace;
    this.#system = options.system ?? SYSTEM;
    if (!options.replace && existsSync(this.path)) throw new FileExistsError(this.path);
    const unique = crypto.randomUUID().slice(0, 8);
    // Not made of the whole name, which may be as long as a name can be.
    this.#draft = join(dirname(this.path), `.${basename(this.path).slice(0, 40)}.partial-${unique}`);
    this.#file = this.#try(() => this.#system.create(this.#draft));
  }

  /** Bytes that were written. */
  get bytes(): number {
    return this.#bytes;
  }

  async write(text: string): Promise<void> {
    this.#pending.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) this.#flush();
  }

  /** Gives the file its name. @throws FileExistsError where another one came meanwhile; StorageFailedError, … */
  publish(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#flush();
    this.#try(() => this.#system.fsync(file));
    this.#file = undefined;
    closeFile(this.#system, file);
    try {
      if (this.#isReplacing) this.#system.rename(this.#draft, this.path);
      else this.#nameNew();
      syncIfAllowed(dirname(this.path), this.#system);
    } catch (error) {
      this.#remove();
      throw toStorageError(error, "The file could not be written", { path: this.path });
    }
  }

  [Symbol.dispose](): void {
    if (this.#file === undefined) return;
    closeFile(this.#system, this.#file);
    this.#file = undefined;
    this.#remove();
  }

  /** By a second name, which never overwrites; some file systems have none. */
  #nameNew(): void {
    try {
      this.#system.link(this.#draft, this.path);
    } catch (error) {
      if (errorCode(error) === "EEXIST" || existsSync(this.path)) throw new FileExistsError(this.path);
      this.#system.rename(this.#draft, this.path);
      return;
    }
    this.#system.remove(this.#draft);
  }

  #flush(): void {
    const file = this.#file;
    if (file === undefined || this.#length === 0) return;
    const bytes = ENCODER.encode(this.#pending.join(""));
    this.#pending = [];
    this.#length = 0;
    this.#try(() => writeAll(this.#system, file, bytes, this.path));
    this.#bytes += bytes.length;
  }

  #remove(): void {
    try {
      this.#system.remove(this.#draft);
    } catch {
      // It is no more than a piece under a name that nobody reads.
    }
  }

  #try<T>(operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      throw toStorageError(error, "The file could not be written", { path: this.path });
    }
  }
}

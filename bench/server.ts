import { readFileSync } from "node:fs";

/** A process that prints its URL when it is ready. */
export class Server implements Disposable {
  readonly url: string;
  readonly #child: Bun.Subprocess;

  private constructor(child: Bun.Subprocess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(command: string[], env: Record<string, string> = {}): Promise<Server> {
    const child = Bun.spawn(command, {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, ...env },
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk);
      if (text.includes("\n")) break;
    }
    return new Server(child, text.trim());
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Processor time so far, in milliseconds; not a number where there is no /proc. */
  cpuMs(): number {
    const fields = this.#read("stat").split(") ")[1]?.split(" ") ?? [];
    // User and system time, in ticks of 10 ms.
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Memory that is resident now, in MB. */
  residentMb(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(this.#read("status"))?.[1]) / 1024;
  }

  #read(name: string): string {
    try {
      return readFileSync(`/proc/${this.#child.pid}/${name}`, "utf8");
    } catch {
      return "";
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

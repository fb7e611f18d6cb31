import { EXECUTABLE } from "./scenario.ts";

/** An option as `--help` tells it. What it does not name is absent. */
export interface HelpOption {
  readonly flag: string;
  readonly variable?: string;
  readonly fallback?: string;
}

/** The options of a command, without `--help` itself. */
export function optionsOf(command: string): HelpOption[] {
  const { stdout } = Bun.spawnSync([EXECUTABLE, ...command.split(" "), "--help"], { env: {} });
  const [, section = ""] = /\nOptions:\n([\s\S]*?)(?:\n\n|$)/.exec(stdout.toString()) ?? [];
  // An option is one line; what does not fit goes on below, further in.
  const lines = section.replaceAll(/\n\s{4,}/g, " ").split("\n");
  return lines.flatMap((line) => {
    const [, flag, description = ""] = /^\s+(?!-h)((?:-\w, )?--\S+(?: <[^>]+>)?)\s+(.*)$/.exec(line) ?? [];
    if (flag === undefined) return [];
    const variable = /\benv: (\w+)/.exec(description)?.[1];
    const fallback = /\bdefault: "?([^",)]+)/.exec(description)?.[1];
    return [
      {
        flag,
        ...(variable === undefined ? {} : { variable }),
        ...(fallback === undefined ? {} : { fallback }),
      },
    ];
  });
}

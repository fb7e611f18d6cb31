import { EXIT } from "../exit-codes.ts";
import { printing } from "../output.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { type CommandTree, modelsOf } from "./model.ts";
import { zshScript } from "./zsh.ts";

export type Shell = "bash" | "zsh" | "fish";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `holdfast completions`: prints a script that completes all commands, flags and values of this program in a shell. */
export function completions(shell: Shell, program: CommandTree): Promise<number> {
  return printing(async (output) => {
    await output.write(SCRIPTS[shell](modelsOf(program)));
    return EXIT.ok;
  });
}

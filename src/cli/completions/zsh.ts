import { placeFunctions } from "./bourne.ts";
import { type CommandModel, quoted } from "./model.ts";

/** A script for zsh: to be sourced behind `compinit`, or as a file `_holdfast` in a folder of `fpath`. */
export function zshScript(models: readonly CommandModel[]): string {
  const list = (entries: ReadonlyArray<readonly [string, string]>) =>
    entries.map(([name, summary]) => quoted(`${name}:${summary}`)).join(" ");
  const cases = models.map(
    ({ path, commands, flags }) => `    ${quoted(path)})
      commands=(${list(commands.map(({ name, summary }) => [name, summary]))})
      flags=(${list(flags.map(({ flag, summary }) => [flag, summary]))})
      ;;`,
  );
  return `#compdef holdfast
# Completion of holdfast for zsh.
${placeFunctions(models)}
_holdfast() {
  local place count kind first named cur="$words[CURRENT]"
  local -a commands flags before ids
  before=("\${(@)words[2,CURRENT-1]}")
  if [[ $cur == --*=* ]]; then
    before+=("\${cur%%=*}")
    compset -P '*='
  fi
  _holdfast_place "\${before[@]}"
  case "$place" in
${cases.join("\n")}
  esac
  if [[ -z $kind ]]; then
    if [[ $cur == -* ]]; then _describe -o flag flags; return; fi
    if (( $#commands )); then _describe command commands; return; fi
    _holdfast_argument "$place" "$count"
  fi
  case "$kind" in
    path) _files ;;
    session|either)
      ids=(\${(f)"$(_holdfast_sessions "\${before[@]}")"}); compadd -a ids
      if [[ $kind == either ]]; then _files; fi
      ;;
    words\\ *) ids=(\${=kind#words }); compadd -a ids ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
`;
}

import { placeFunctions } from "./bourne.ts";
import { type CommandModel, quoted } from "./model.ts";

/** A script for bash, of any version since 3.2. */
export function bashScript(models: readonly CommandModel[]): string {
  const words = (list: readonly string[]) => quoted(list.join(" "));
  const cases = models.map(
    ({ path, commands, flags }) =>
      `    ${quoted(path)}) commands=${words(commands.map(({ name }) => name))}; flags=${words(flags.map(({ flag }) => flag))} ;;`,
  );
  return `# Completion of holdfast for bash.
${placeFunctions(models)}
_holdfast() {
  local place count kind first named commands= flags= i
  local cur="\${COMP_WORDS[COMP_CWORD]}"
  local -a before
  before=()
  # Bash takes --flag=value apart at the sign.
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != "=" ]]; then before+=("\${COMP_WORDS[i]}"); fi
  done
  if [[ $cur == "=" ]]; then cur=; fi
  _holdfast_place "\${before[@]}"
  case "$place" in
${cases.join("\n")}
  esac
  COMPREPLY=()
  local IFS=$' \\t\\n'
  if [[ -z $kind ]]; then
    if [[ $cur == -* ]]; then kind="words $flags"
    elif [[ -n $commands ]]; then kind="words $commands"
    else _holdfast_argument "$place" "$count"
    fi
  fi
  case "$kind" in
    path|either)
      compopt -o filenames 2>/dev/null
      if [[ $kind == either ]]; then COMPREPLY=($(compgen -W "$(_holdfast_sessions "\${before[@]}")" -- "$cur")); fi
      IFS=$'\\n'
      COMPREPLY+=($(compgen -f -- "$cur"))
      ;;
    session) COMPREPLY=($(compgen -W "$(_holdfast_sessions "\${before[@]}")" -- "$cur")) ;;
    words\\ *) COMPREPLY=($(compgen -W "\${kind#words }" -- "$cur")) ;;
  esac
}
complete -F _holdfast holdfast
`;
}

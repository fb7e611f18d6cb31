import { type CommandModel, patternsByKind, quoted } from "./model.ts";

/* What the scripts for bash and zsh share: functions that say where on the command line something stands. */

/** Ids of the sessions of the store that the line names, or the environment. Silent where there is none. */
const SESSIONS = `_holdfast_sessions() {
  local i next
  local -a store
  store=()
  for ((i = 1; i < $#; i++)); do
    next=$((i + 1))
    case "$(_holdfast_nth "$i" "$@")" in
      --session-db|--session-dir) store=("$(_holdfast_nth "$i" "$@")" "$(_holdfast_nth "$next" "$@")") ;;
      --from) store=("$(_holdfast_nth "$next" "$@")") ;;
    esac
  done
  holdfast sessions list "\${store[@]}" --json </dev/null 2>/dev/null |
    head -n 500 | sed -n 's/^{"id":"\\([A-Za-z0-9._-]*\\)".*/\\1/p'
}
_holdfast_nth() { shift "$1"; printf '%s' "$1"; }`;

/**
 * Defines `_holdfast_place WORD…`, which takes the words before the one that is completed, without the program's own. It
 * sets `place` to the command, `count` to the number of its arguments, and `kind` to what the next word is: empty where
 * that is no value of a flag.
 */
export function placeFunctions(models: readonly CommandModel[]): string {
  const paths = models.map(({ path }) => path).filter((path) => path !== "");
  const cases = (of: "flags" | "arguments") =>
    patternsByKind(models, of).map(([kind, patterns]) => `    ${patterns}) kind=${quoted(kind)} ;;`);
  return `${SESSIONS}
_holdfast_value() {
  kind=
  case "$1 $2" in
${cases("flags").join("\n")}
  esac
}
_holdfast_argument() {
  kind=any
  case "$1 $2" in
${cases("arguments").join("\n")}
  esac
}
_holdfast_place() {
  local word
  place= count=0 kind=
  for word in "$@"; do
    if [[ -n $kind ]]; then kind=; continue; fi
    if [[ $word == --*=* ]]; then continue; fi
    if [[ $word == -* ]]; then _holdfast_value "$place" "$word"; continue; fi
    case "$place/$word" in
      ${paths.map(quoted).join("|")}) place="$place/$word" ;;
      *) count=$((count + 1)) ;;
    esac
  done
}`;
}

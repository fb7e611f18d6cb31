import { type CommandModel, idFirst, patternsByKind, quoted, sourceFlags, storeFirst } from "./model.ts";

/* What the scripts for bash and zsh share: functions that say where on the command line something stands. */

/**
 * Ids of the sessions of the store that the line names, by a flag or before them, or the environment. Silent where there
 * is none.
 */
const sessionsFunction = (models: readonly CommandModel[]) => `_holdfast_sessions() {
  local i next
  local -a store
  store=()
  for ((i = 1; i < $#; i++)); do
    next=$((i + 1))
    case "$place $(_holdfast_nth "$i" "$@")" in
      *" --session-db"|*" --session-dir"|*" --config") store+=("$(_holdfast_nth "$i" "$@")" "$(_holdfast_nth "$next" "$@")") ;;
      ${patterns(sourceFlags(models))}) store=("$(_holdfast_nth "$next" "$@")") ;;
    esac
  done
  case "\${store[*]} $place" in
    *"--session-"*) ;;
    ${[...storeFirst(models), ...idFirst(models)].map((path) => `*${quoted(` ${path}`)}`).join("|")})
      if _holdfast_is_store "$first"; then store=("$first"); fi
      ;;
  esac
  holdfast sessions list "\${store[@]}" --ids </dev/null 2>/dev/null |
    head -n 500 | sed -n '/^[A-Za-z0-9._-]*$/p'
}
_holdfast_is_store() {
  case "$1" in
    sqlite:*|jsonl:*) ;;
    *) [[ -e "$1" ]] ;;
  esac
}
_holdfast_nth() { shift "$1"; printf '%s' "$1"; }`;

/**
 * Defines `_holdfast_place WORD…`, which takes the words before the one that is completed, without the program's own. It
 * sets `place` to the command, `count` to the number of its arguments, `first` to the first of them, `named` where a flag names the store, and `kind` to what the next word is: empty where
 * that is no value of a flag.
 */
export function placeFunctions(models: readonly CommandModel[]): string {
  const paths = models.map(({ path }) => path).filter((path) => path !== "");
  const cases = (of: "flags" | "arguments") =>
    patternsByKind(models, of).map(([kind, patterns]) => `    ${patterns}) kind=${quoted(kind)} ;;`);
  return `${sessionsFunction(models)}
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
  # A session and its store stand in either order.
  case "$1" in
    ${patterns(idFirst(models))})
      if [[ -n $named ]]; then :
      elif [[ $2 -eq 0 ]]; then kind=either
      elif [[ $2 -eq 1 ]] && _holdfast_is_store "$first"; then kind=session; fi
      ;;
  esac
}
_holdfast_place() {
  local word
  place= count=0 kind= first= named=
  for word in "$@"; do
    case "$word" in --session-db*|--session-dir*) named=yes ;; esac
    if [[ -n $kind ]]; then kind=; continue; fi
    if [[ $word == --*=* ]]; then continue; fi
    if [[ $word == -* ]]; then _holdfast_value "$place" "$word"; continue; fi
    case "$place/$word" in
      ${paths.map(quoted).join("|")}) place="$place/$word" ;;
      *)
        if [[ $count -eq 0 ]]; then first="$word"; fi
        count=$((count + 1))
        ;;
    esac
  done
}`;
}

function patterns(texts: readonly string[]): string {
  return texts.map(quoted).join("|");
}

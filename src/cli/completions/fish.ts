import { type CommandModel, idFirst, type Kind, sourceFlags, storeFirst } from "./model.ts";

const PROGRAM = "complete -c holdfast";

/** A script for fish. */
export function fishScript(models: readonly CommandModel[]): string {
  const paths = models.map(({ path }) => path).filter((path) => path !== "");
  const valued = models.flatMap(({ path, flags }) =>
    flags.flatMap(({ flag, short, value }) => {
      const names = value === undefined ? [] : [flag, ...(short === undefined ? [] : [short])];
      return names.map((name) => `${path} ${name}`);
    }),
  );
  return `# Completion of holdfast for fish.
set -g __holdfast_commands ${paths.map(quoted).join(" ")}
set -g __holdfast_store_first ${[...storeFirst(models), ...idFirst(models)].map(quoted).join(" ")}
set -g __holdfast_sources ${sourceFlags(models).map(quoted).join(" ")}
set -g __holdfast_valued ${valued.map(quoted).join(" ")}
function __holdfast_place
    set -l path ''
    set -l count 0
    set -l words (commandline -opc)
    set -l takes ''
    set -l first
    for word in $words[2..-1]
        if test -n "$takes"
            set takes ''
            continue
        end
        switch $word
            case '-*'
                contains -- "$path $word" $__holdfast_valued; and set takes yes
            case '*'
                if contains -- "$path/$word" $__holdfast_commands
                    set path "$path/$word"
                else
                    test $count -eq 0; and set first $word
                    set count (math $count + 1)
                end
        end
    end
    printf '%s\\n' $path $count $first
end
function __holdfast_at
    set -l place (__holdfast_place)
    test "$place[1]" = "$argv[1]"; and begin
        test (count $argv) -eq 1; or test "$place[2]" = "$argv[2]"
    end
end
function __holdfast_is_store
    string match -q -r '^(sqlite|jsonl):' -- $argv[1]; or test -e "$argv[1]"
end
function __holdfast_either_at
    __holdfast_at $argv; and not string match -q -r '^--session-(db|dir)' -- (commandline -opc)
end
function __holdfast_store_at
    set -l place (__holdfast_place)
    __holdfast_either_at $argv; and __holdfast_is_store "$place[3]"
end
function __holdfast_sessions
    set -l words (commandline -opc)
    set -l place (__holdfast_place)
    set -l store
    for i in (seq 2 (math (count $words) - 1))
        switch $words[$i]
            case --session-db --session-dir --config
                set -a store $words[$i] $words[(math $i + 1)]
            case --from
                contains -- "$place[1] --from" $__holdfast_sources; and set store $words[(math $i + 1)]
        end
    end
    if not string match -q -- '*--session-*' "$store"
        if contains -- "$place[1]" $__holdfast_store_first
            __holdfast_is_store "$place[3]"; and set store $place[3]
        end
    end
    holdfast sessions list $store --ids </dev/null 2>/dev/null | head -n 500 | string match -r '^[A-Za-z0-9._-]+$'
end
${PROGRAM} -f
${models.flatMap(linesOf).join("\n")}
${idFirst(models).flatMap(eitherOrder).join("\n")}
`;
}

function linesOf({ path, commands, flags, arguments: places }: CommandModel): string[] {
  const at = (...place: readonly string[]) =>
    `${PROGRAM} -n ${quoted(["__holdfast_at", ...place.map(quoted)].join(" "))}`;
  return [
    ...commands.map(({ name, summary }) => `${at(path, "0")} -a ${quoted(name)} -d ${quoted(summary)}`),
    ...flags.map(({ flag, short, summary, value }) => {
      const takes = value === undefined ? "" : ` -r ${offer(value) || "-f"}`;
      const brief = short === undefined ? "" : ` -s ${short.slice(1)}`;
      return `${at(path)} -l ${flag.slice(2)}${brief}${takes} -d ${quoted(summary)}`;
    }),
    ...places.flatMap(({ value, isVariadic }, k) => {
      const text = offer(value);
      return text === "" ? [] : [`${isVariadic ? at(path) : at(path, String(k))} ${text}`];
    }),
  ];
}

/** What is offered besides where a session and its store stand in either order. */
function eitherOrder(path: string): string[] {
  return [
    `${PROGRAM} -n ${quoted(`__holdfast_either_at ${quoted(path)} 0`)} ${offer({ kind: "path" })}`,
    `${PROGRAM} -n ${quoted(`__holdfast_store_at ${quoted(path)} 1`)} ${offer({ kind: "session" })}`,
  ];
}

/** What offers the values of a kind. */
function offer(kind: Kind): string {
  switch (kind.kind) {
    case "words":
      return `-f -a ${quoted(kind.words.join(" "))}`;
    case "path":
      return "-F";
    case "session":
      return "-f -a '(__holdfast_sessions)'";
    case "any":
      return "";
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

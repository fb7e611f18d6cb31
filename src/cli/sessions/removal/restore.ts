import { dirname, resolve } from "node:path";
import { resolveStorePath } from "../../../store/paths.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import type { Place, Trashed } from "../../../store/trash.ts";
import { printableLine } from "../../printable.ts";
import { salvageCommand, shellWord } from "../next-step.ts";

/* Commands that bring back what was deleted, for a POSIX shell in any folder. */

/** A session that lies in the trash. */
export type Kept = Trashed & { readonly id: string };

interface Moved {
  readonly path: string;
  readonly from: Place;
}

/** More are not named one by one. */
const MOST_NAMED = 4;

/**
 * Moves each thing below a trash folder back into its place, `$0` being the root; what is in a place already stays. By
 * `find`, since names may begin with a dot, and there may be more than one command takes.
 */
const MOVE_ALL =
  `'for s do p=\${s%/*}; p=$0/\${p##*/}; if test -e "$p/\${s##*/}"; then printf "there already: " >&2; ls -dq "$s" >&2; ` +
  `else mkdir -p -m 700 "$p" && mv "$s" "$p/"; fi; done'`;

/**
 * What was moved as it is, is moved back: that restores it whatever is in it, and in no time. What was written anew is
 * copied, and rows are salvaged.
 * @param trash folder of the command that deleted them
 */
export function restoreCommands(kept: readonly Kept[], trash: string, store: StoreName): readonly string[] {
  const moved = kept.flatMap((session) =>
    session.form === "log" && session.from !== undefined ? [{ path: session.path, from: session.from }] : [],
  );
  const written = kept.filter((session) => session.form === "log" && session.from === undefined);
  const rows = kept.flatMap((session) => (session.form === "rows" && !session.isEmpty ? [session.path] : []));
  const to = `--to ${shellWord(formatStoreName({ ...store, path: endless(resolve(store.path)) }))}`;
  return [
    ...moves(moved, trash, store),
    ...copies(written, trash, to),
    ...rows.map((path) => salvageCommand(path, []).replace(/--to STORE$/, () => to)),
  ];
}

function moves(moved: readonly Moved[], trash: string, store: StoreName): readonly string[] {
  if (moved.length > MOST_NAMED) {
    const root = folderWord(resolveStorePath(store.path));
    return [`find ${shellWord(trash)} -mindepth 2 -maxdepth 2 -exec sh -c ${MOVE_ALL} ${root} {} +`];
  }
  // A folder is never moved over one that holds something; a file would be.
  const command = (from: Place) => [from.isFolder ? "mv" : "mv -n", folderWord(dirname(from.path))] as const;
  const groups = Map.groupBy(moved, ({ from }) => command(from).join(" "));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const [move, folder] = command(first.from);
    const paths = group.map(({ path, from }) => (from.isFolder ? folderWord(path) : shellWord(path)));
    return [`mkdir -p -m 700 ${folder} && ${move} ${paths.join(" ")} ${folder}/`];
  });
}

function folderWord(path: string): string {
  return shellWord(endless(path));
}

/** The path of a folder, which does not end with a line feed: a shell would lose that. Databases cannot be called so. */
function endless(path: string): string {
  return path.endsWith("\n") ? `${path}/` : path;
}

function copies(written: readonly Kept[], trash: string, to: string): readonly string[] {
  if (written.length === 0) return [];
  const isNamed = written.length <= MOST_NAMED && written.every(({ id }) => isPlain(id));
  const ids = isNamed ? written.map(({ id }) => shellWord(id)) : ["--all"];
  return [`holdfast sessions copy ${ids.join(" ")} --from ${shellWord(`jsonl:${trash}`)} ${to}`];
}

/** Whether an id can be typed as it is printed, and is not taken for a flag. */
function isPlain(id: string): boolean {
  return !id.startsWith("-") && printableLine(id) === id;
}

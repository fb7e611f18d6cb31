import { isAbsolute, join } from "node:path";

/** What says where a user's caches lie. */
export interface CachePlace {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home folder of the user; empty where there is none. */
  readonly home: string;
}

/** The folder of Holdfast's caches, which need not exist. Nothing where the user has no place for such. */
export function cacheFolder({ platform, env, home }: CachePlace): string | undefined {
  const below = (folder: string | undefined, ...names: readonly string[]) =>
    folder !== undefined && isAbsolute(folder) ? join(folder, ...names, "holdfast") : undefined;
  // A path that is not absolute counts as none.
  const named = below(env["XDG_CACHE_HOME"]);
  if (named !== undefined) return named;
  if (platform === "win32") return below(env["LOCALAPPDATA"]);
  return platform === "darwin" ? below(home, "Library", "Caches") : below(home, ".cache");
}

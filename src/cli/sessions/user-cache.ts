import { homedir } from "node:os";
import { cacheFolder } from "../../host/cache-folder.ts";
import { OutlineCache } from "../../store/outlines.ts";
import type { StoreName } from "../../store/store-name.ts";

/** What is known of the sessions of a store, where this user keeps it. */
export function userCache(name: StoreName): OutlineCache {
  const { platform, env } = process;
  return OutlineCache.open(cacheFolder({ platform, env, home: homedir() }), name);
}

import packageJson from "../../package.json" with { type: "json" };
import { SESSION_VERSION } from "../session/version.ts";

/** What this program is: for `--version`, `GET /version` and bug reports. */
export function versionInfo() {
  return {
    name: packageJson.name,
    version: packageJson.version,
    bun: Bun.version,
    platform: `${process.platform}-${process.arch}`,
    sessionFormat: SESSION_VERSION,
  };
}

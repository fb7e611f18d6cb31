import { expect, test } from "bun:test";
import { makeDirectory } from "../../src/store/paths.ts";

test.skipIf(process.platform !== "linux")(
  "a folder that cannot be made in a folder that is there is refused at once",
  () => {
    // The system says of any new name in here that its parent is missing.
    for (const path of ["/proc/holdfast", "/proc/holdfast/data/more"]) {
      expect(() => makeDirectory(path)).toThrow("The folder of the store could not be made");
    }
  },
);

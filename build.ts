import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";

/*
 * Builds the executable: `bun build.ts [--target bun-linux-x64] [--outfile dist/holdfast]`.
 *
 * Not minified: Elysia reads the source of handlers to see what they use. The autoload switches are off, so that a
 * `.env`, bunfig.toml, tsconfig.json or package.json in the folder it runs in cannot change the program.
 */

const TARGETS = ["bun-linux-x64", "bun-linux-arm64", "bun-darwin-arm64", "bun-windows-x64"] as const;
type Target = (typeof TARGETS)[number];

const { values } = parseArgs({ options: { target: { type: "string" }, outfile: { type: "string" } } });
const target = TARGETS.find((name) => name === values.target);
if (values.target !== undefined && target === undefined) {
  throw new Error(`unknown target ${values.target}; there are ${TARGETS.join(", ")}`);
}
await build(
  target,
  values.outfile ??
    `${import.meta.dir}/dist/${target === undefined ? "holdfast" : `holdfast-${target.slice(4)}`}`,
);

async function build(buildTarget: Target | undefined, outfile: string): Promise<void> {
  const folder = dirname(outfile);
  mkdirSync(folder, { recursive: true });
  // The executable holds its source maps, by which its stack traces are told. They are written beside it as well, a file
  // for each chunk: those stay behind here.
  const draft = mkdtempSync(join(folder, ".build-"));
  try {
    await Bun.build({
      entrypoints: [`${import.meta.dir}/src/main.ts`, `${import.meta.dir}/src/store/storage-worker.ts`],
      root: `${import.meta.dir}/src`,
      target: "bun",
      format: "esm",
      bytecode: true,
      splitting: true,
      sourcemap: "linked",
      minify: false,
      define: { "process.env.NODE_ENV": JSON.stringify("production") },
      compile: {
        ...(buildTarget === undefined ? {} : { target: buildTarget }),
        outfile: join(draft, basename(outfile)),
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
      },
    });
    // On Windows its name gets an ending.
    for (const name of readdirSync(draft)) {
      if (!name.endsWith(".map")) renameSync(join(draft, name), join(folder, name));
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  process.stdout.write(`${outfile}\n`);
}

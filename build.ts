import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
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
  mkdirSync(dirname(outfile), { recursive: true });
  // Source maps are named by content: those of earlier builds would pile up.
  for (const name of readdirSync(dirname(outfile))) {
    if (/^chunk-\w+\.js\.map$/.test(name)) rmSync(join(dirname(outfile), name));
  }
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
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  process.stdout.write(`${outfile}\n`);
}

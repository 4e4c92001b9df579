// `npm run simulate`: bundles the simulation from its sources and runs it. Arguments go to it.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { prepare } from "./prepare.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outDir = join(root, "node_modules", ".cache", "sluicegate-simulation");
if (!existsSync(join(root, "node_modules", "vite"))) prepare();
const { build } = await import("vite");
await build({
  ...{ root, configFile: false, logLevel: "warn" },
  // Nothing has to be built before: the other packages are taken from their sources, too.
  resolve: {
    alias: [{ find: /^@sluicegate\/([\w-]+)$/, replacement: join(root, "packages", "$1", "src", "index.ts") }],
  },
  build: {
    ssr: join(root, "packages", "gateway", "simulation", "main.ts"),
    ...{ outDir, emptyOutDir: true, target: "node20", minify: false, sourcemap: "inline" },
    rollupOptions: { output: { entryFileNames: "main.js" } },
  },
});
process.setSourceMapsEnabled(true);
await import(pathToFileURL(join(outDir, "main.js")).href);

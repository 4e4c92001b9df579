// `npm run simulate`: bundles the simulation, which no build makes, and runs it. Arguments go to it.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { prepare } from "./prepare.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outDir = join(root, "node_modules", ".cache", "sluicegate-simulation");
prepare();
const { build } = await import("vite");
await build({
  ...{ root, configFile: false, logLevel: "warn" },
  build: {
    ssr: join(root, "packages", "gateway", "simulation", "main.ts"),
    ...{ outDir, emptyOutDir: true, target: "node20", minify: false, sourcemap: "inline" },
    rollupOptions: { output: { entryFileNames: "main.js" } },
  },
});
process.setSourceMapsEnabled(true);
await import(pathToFileURL(join(outDir, "main.js")).href);

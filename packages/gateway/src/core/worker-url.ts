/**
 * The compiled worker `name` beside the module at `here` (its `import.meta.url`). Run from source (the tests), it is the one
 * the build has put beside the source tree.
 */
export function workerUrl(here: string, name: string): URL {
  if (!here.endsWith(".ts")) return new URL(`./${name}.js`, here);
  const at = here.lastIndexOf("/src/");
  return new URL(`./${name}.js`, `${here.slice(0, at)}/dist/${here.slice(at + 5)}`);
}

/** A compiled worker of this folder. Run from source (the tests), it is the one the build has put beside the source tree. */
export function workerUrl(name: string): URL {
  const here = import.meta.url;
  if (!here.endsWith(".ts")) return new URL(`./${name}.js`, here);
  const at = here.lastIndexOf("/src/");
  return new URL(`./${name}.js`, `${here.slice(0, at)}/dist/${here.slice(at + 5)}`);
}

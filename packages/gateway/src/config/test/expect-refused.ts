import { expect, test } from "vitest";
import type { LoadOptions } from "../load.ts";
import { type Files, loadText } from "./load-text.ts";

/**
 * A bad config: a name for the case, the text with `▸` before the very character that must be pointed at, the path of
 * the fault, and words of its message.
 */
export type BadConfig = [name: string, marked: string, path: string, says: string];

/** Options of the load, and its variables and other files. */
type Rest = Partial<LoadOptions> & { variables?: Record<string, string>; files?: Files };

/** One test a config: it is refused, at the mark, in these words. */
export function testRefused(configs: readonly BadConfig[], rest: Rest = {}): void {
  test.each(configs)("%s", async (_, marked, path, says) => {
    const { place, text } = unmarked(marked);
    const { snapshot, problems } = await loadText(text, rest);
    expect(snapshot).toBeNull();
    const hits = problems.filter(({ severity, message }) => severity === "error" && message.includes(says));
    const words = problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join("\n");
    expect(hits.length, `one problem should say «${says}», but there are:\n${words}`).toBe(1);
    const [hit] = hits;
    expect({ place: `${hit?.line}:${hit?.column}`, path: hit?.path, file: hit?.file }).toEqual({
      place,
      path,
      file: "sluicegate.yaml",
    });
  });
}

/** A text without its mark, and where that was. */
function unmarked(marked: string): { place: string; text: string } {
  const before = marked.slice(0, marked.indexOf("▸")).split("\n");
  expect(marked.split("▸").length, "one mark").toBe(2);
  return { place: `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`, text: marked.replace("▸", "") };
}

/** A config that is fine, to be made worse. */
export const SIM = "providers: { sim: { kind: simulator } }\n";
/** The same with a route. */
export const GOOD = `${SIM}routes: { default: { chain: [sim/echo] } }\n`;
/** A provider `x` and a route that leads to it. */
export const provider = (text: string): string =>
  `providers:\n  ${text}\nroutes: { default: { chain: [x/model-1] } }\n`;
/** A deployment `d` and a route that leads to it. */
export const deployment = (text: string): string =>
  `${SIM}deployments:\n  ${text}\nroutes: { default: { chain: [d] } }\n`;
/** A price of such a deployment. */
export const price = (text: string): string => deployment(`d: { provider: sim, model: echo, price: ${text} }`);
/** Routes beside the simulator. */
export const routes = (text: string): string => `${SIM}routes:\n  ${text}\n`;
/** Tenants beside a good config. */
export const tenants = (text: string): string => `${GOOD}tenants:\n  ${text}\n`;
/** Keys of a tenant `t` with a team. */
export const keys = (text: string): string =>
  `${GOOD}tenants: { t: { models: "*", teams: { payments: {} } } }\nkeys:\n  ${text}\n`;

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { configJsonSchema } from "../src/config/json-schema.ts";
import { lines, loadText } from "../src/config/test/load-text.ts";

const page = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), "utf8");

const WHOLE = ["README.md", "docs/guides/routing.md", "docs/guides/resilience.md", "docs/guides/operations.md"];

const configs = WHOLE.flatMap((name) =>
  [...page(name).matchAll(/```yaml\n([\s\S]*?)```/g)].map((match, i): [string, string] => [
    `${name}, block ${i + 1}`,
    match[1] ?? "",
  ]),
);

/** Something that fits for each variable of a text. */
function variablesOf(text: string): Record<string, string> {
  const names = [...text.matchAll(/env:([A-Z_]+)/g)].map((match) => match[1] ?? "");
  return Object.fromEntries(names.map((name) => [name, name === "REDIS_URL" ? "redis://127.0.0.1" : fitting(name)]));
}

function fitting(name: string): string {
  return /URL|WEBHOOK/.test(name) ? "https://alerts.example.com/" : `sg_${name.toLowerCase()}_0123456789`;
}

test.each(configs)("the config of %s loads, without a word", async (_, text) => {
  const loaded = await loadText(text, { variables: variablesOf(text) });
  expect(lines(loaded)).toEqual([]);
  expect(loaded.snapshot).not.toBeNull();
});

interface Schema {
  default?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  anyOf?: Schema[];
}

/** The schema at `routes.x.hedge.after`, where `x` is any name and `[]` any element. */
function schemaAt(path: string): Schema | undefined {
  const steps = path.replaceAll("[]", ".[]").split(".");
  return steps.reduce<Schema | undefined>((at, step) => {
    for (const one of at?.anyOf ?? [at]) {
      const found = step === "x" ? one?.additionalProperties : step === "[]" ? one?.items : one?.properties?.[step];
      if (found) return found;
    }
    return undefined;
  }, configJsonSchema() as Schema);
}

describe("the options of a guide", () => {
  const rows = WHOLE.flatMap((name) =>
    [...page(name).matchAll(/^\| `([a-z_.[\]]+)` +\| (.+?) +\|/gm)]
      .map(([, path = "", otherwise = ""]) => ({ name, path, otherwise }))
      .filter(({ path }) => /^(routes|deployments|rules|alerts|flags|gateway|state)\b/.test(path)),
  );

  test.each(rows)("$path of $name has the default that is said: $otherwise", ({ path, otherwise }) => {
    const schema = schemaAt(path);
    expect(schema, `there is no ${path}`).toBeDefined();
    const said = /^`(.*)`$/.exec(otherwise)?.[1];
    const real = schema?.default;
    expect(said).toBe(typeof real === "string" || real === undefined ? real : JSON.stringify(real));
  });

  test("are all there", () => {
    expect(rows.length).toBeGreaterThan(45);
    expect(configs.length).toBeGreaterThan(10);
  });
});

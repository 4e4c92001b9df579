import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MODELS } from "./models/resolve.ts";
import { GENERIC_OPTIONS, QUIRKS } from "./models/settings.ts";

test("the README names every model, option and quirk", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const own = [...MODELS.values()].flatMap((model) => model.own ?? []);
  for (const name of [...MODELS.keys(), ...GENERIC_OPTIONS, ...own, ...QUIRKS]) {
    expect(text).toMatch(new RegExp(`\`${name}(=1)?\``));
  }
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "./load.ts";
import { folderWith, lines, loadText as loadWith, optionsFor } from "./test/load-text.ts";

const variables = { UP_KEY: "sk-x" };
const loadText = (text: string) => loadWith(text, { variables });

const deployed = (rest: string, model = "gpt-4o-2024-11-20", kind = "openai"): string =>
  [
    `providers: { up: { kind: ${kind}, api_key: "env:UP_KEY"${kind === "openai-compatible" ? ", base_url: http://127.0.0.1:1/v1" : ""} } }`,
    `deployments: { d: { provider: up, model: ${model}${rest} } }`,
    "routes: { default: { chain: [d] } }",
  ].join("\n");

describe("what a deployment's model can do, take and write", () => {
  test("comes from the catalogue where the config says nothing", async () => {
    const { snapshot, problems } = await loadText(deployed(""));
    expect(problems).toEqual([]);
    expect(snapshot?.deployments.get("d")).toMatchObject({
      contextWindow: 128_000,
      maxOutputTokens: 16_384,
      capabilities: expect.arrayContaining(["tools", "vision", "json_schema"]),
      retires: { atMs: Date.parse("2027-01-14"), announcedMs: Date.parse("2026-10-14") },
    });
  });

  test("is what the config says, each by itself", async () => {
    const said = ", context_window: 1000, max_output: 100, capabilities: [tools], retires: 2027-03-01";
    expect((await loadText(deployed(said))).snapshot?.deployments.get("d")).toMatchObject({
      contextWindow: 1_000,
      maxOutputTokens: 100,
      capabilities: ["tools"],
      retires: { atMs: Date.parse("2027-03-01"), announcedMs: null },
    });
    expect((await loadText(deployed(", capabilities: []"))).snapshot?.deployments.get("d")).toMatchObject({
      capabilities: [],
      contextWindow: 128_000,
    });
  });

  test.each([
    ["an unknown model", deployed("", "gpt-99-2030-01-01")],
    ["a server of one's own", deployed("", "gpt-4o-2024-11-20", "openai-compatible")],
  ])("is not known of %s", async (_, text) => {
    const deployment = (await loadText(text)).snapshot?.deployments.get("d");
    expect(deployment?.maxOutputTokens).toBeNull();
    for (const key of ["capabilities", "contextWindow", "retires"]) expect(deployment).not.toHaveProperty(key);
  });

  test("holds for `provider/model` in a chain, too", async () => {
    const text =
      "providers: { up: { kind: openai, api_key: 'env:UP_KEY' } }\nroutes: { a: { chain: [up/gpt-4o-mini-2024-07-18] } }";
    const { snapshot } = await loadText(text);
    expect(snapshot?.deployments.get("up/gpt-4o-mini-2024-07-18")).toMatchObject({ contextWindow: 128_000 });
  });

  test.each([
    [
      ", capabilities: [tools, visoin]",
      "2:83 error deployments.d.capabilities[1]: `visoin` is unknown here; did you mean `vision`?",
    ],
    [", capabilities: tools", "2:75 error deployments.d.capabilities: `tools` is a text; a list is wanted"],
    [", context_window: 0", "2:77 error deployments.d.context_window: `0` must be at least 1"],
    [", context_window: many", "2:77 error deployments.d.context_window: `many` is not a whole number"],
    [", retires: soon", "2:70 error deployments.d.retires: `soon` is not a date"],
    [
      ", context_window: 100, max_output: 200",
      "error deployments.d.max_output: `max_output` is larger than `context_window`",
    ],
  ])("refuses %s", async (said, expected) => {
    const loaded = await loadText(deployed(said));
    expect(loaded.snapshot).toBeNull();
    expect(lines(loaded).join("\n")).toContain(expected);
  });
});

describe("a model's end", () => {
  // These tests take place on 2026-11-30.
  test.each([
    [", retires: 2027-03-01", null],
    [", retires: 2026-12-31", null],
    [
      ", retires: 2026-12-30",
      "2:70 warning deployments.d.retires: `gpt-4o-2024-11-20` retires on 2026-12-30, in 30 days; name its successor",
    ],
    [", retires: 2026-12-01", "retires on 2026-12-01, in 1 day; name"],
    [", retires: 2026-11-30", "retired on 2026-11-30: calls to it may fail any time; name its successor"],
    [", retires: 2025-01-01", "retired on 2025-01-01"],
  ])("%s", async (said, expected) => {
    const loaded = await loadText(deployed(said));
    expect(loaded.snapshot).not.toBeNull();
    if (expected === null) expect(lines(loaded)).toEqual([]);
    else expect(lines(loaded).join("\n")).toContain(expected);
  });

  test("is known of the catalogue's models, too, in a chain as well", async () => {
    expect(lines(await loadText(deployed("", "gpt-5-2025-08-07")))).toEqual([
      "2:42 warning deployments.d.model: `gpt-5-2025-08-07` retires on 2026-12-11, in 11 days; name its successor",
    ]);
    const text =
      "providers: { up: { kind: openai, api_key: 'env:UP_KEY' } }\nroutes: { a: { chain: [up/o3-2025-04-16] } }";
    expect(lines(await loadText(text))).toEqual([
      "2:24 warning routes.a.chain[0]: `o3-2025-04-16` retires on 2026-12-11, in 11 days; name its successor",
    ]);
  });
});

describe("floating names", () => {
  const config = (gateway: string, pins: [string, string], declared = ""): string =>
    [
      `gateway: { ${gateway} }`,
      "providers: { up: { kind: openai, api_key: 'env:UP_KEY' } }",
      declared || "# nothing declared",
      `routes: { a: { chain: [${declared ? "d" : "up/gpt-4o"}]${pins[0]} }, b: { chain: [${declared ? "d" : "up/gpt-4o"}]${pins[1]} } }`,
    ].join("\n");
  const D = "deployments: { d: { provider: up, model: gpt-4o } }";
  const LATEST = ", pin: latest";
  const WARNED = "is a floating model name: the vendor may put another model behind it; name a dated one";
  const REFUSED =
    "is a floating model name: the vendor may put another model behind it, which `strict_pins` refuses; name a dated one, or say `pin: latest` on its routes";

  test.each<[string, string, [string, string], string, string[]]>([
    ["warns", "", ["", ""], "", [`4:24 warning routes.a.chain[0]: \`gpt-4o\` ${WARNED}`]],
    [
      "warns at the route that does not mean it",
      "",
      [LATEST, ", pin: snapshot"],
      "",
      [`warning routes.b.chain[0]: \`gpt-4o\` ${WARNED}`],
    ],
    ["is said aloud by all", "", [LATEST, LATEST], "", []],
    ["is refused", "strict_pins: true", ["", ""], "", [`4:24 error routes.a.chain[0]: \`gpt-4o\` ${REFUSED}`]],
    [
      "is refused where one does not mean it",
      "strict_pins: true",
      [LATEST, ""],
      "",
      [`error routes.b.chain[0]: \`gpt-4o\` ${REFUSED}`],
    ],
    ["is allowed where all mean it", "strict_pins: true", [LATEST, LATEST], "", []],
    ["warns of a declared one", "", ["", ""], D, [`3:42 warning deployments.d.model: \`gpt-4o\` ${WARNED}`]],
    [
      "refuses a declared one",
      "strict_pins: true",
      [LATEST, ""],
      D,
      [`3:42 error deployments.d.model: \`gpt-4o\` ${REFUSED}`],
    ],
    ["allows a declared one", "strict_pins: true", [LATEST, LATEST], D, []],
  ])("%s", async (_, gateway, pins, declared, expected) => {
    const loaded = await loadText(config(gateway, pins, declared));
    const told = lines(loaded);
    expect(told).toHaveLength(expected.length);
    for (const [i, line] of expected.entries()) expect(told[i]).toContain(line);
    expect(loaded.snapshot === null).toBe(expected.some((line) => line.includes("error")));
  });

  test("what `pin` may be", async () => {
    const loaded = await loadText(config("strict_pins: maybe", [", pin: newest", ""]));
    expect(lines(loaded)).toEqual([
      "1:25 error gateway.strict_pins: `maybe` is not true or false",
      expect.stringContaining("error routes.a.pin: `newest` is unknown here; it is one of `snapshot`, `latest`"),
      expect.stringContaining("warning routes.b.chain[0]: "),
    ]);
  });
});

describe("a catalogue in the data dir", () => {
  const ours = (window: unknown): string =>
    JSON.stringify({
      updated: "2026-12-01",
      sources: { us: { url: "https://models.example", read: "2026-12-01" } },
      models: [{ names: ["gpt-4o"], context_window: window, capabilities: ["tools"], sources: ["us"] }],
      retirements: [],
    });

  test("goes over the one that ships, and is part of what a reload compares; a broken one is told of", async () => {
    const folder = folderWith({ "sluicegate.yaml": deployed(""), "catalogue.json": ours(1_000) });
    try {
      const catalogueFile = join(folder.dir, "catalogue.json");
      const load = () => loadConfig({ ...optionsFor(folder.dir, variables), catalogueFile });
      const first = await load();
      expect(first.snapshot?.deployments.get("d")).toMatchObject({ contextWindow: 1_000, capabilities: ["tools"] });
      writeFileSync(catalogueFile, ours(2_000));
      const second = await load();
      expect(second.snapshot?.deployments.get("d")).toMatchObject({ contextWindow: 2_000 });
      expect(second.fingerprint).not.toBe(first.fingerprint);
      writeFileSync(catalogueFile, ours("large"));
      const third = await load();
      expect(third.snapshot?.deployments.get("d")).toMatchObject({ contextWindow: 128_000 });
      expect(lines(third)).toEqual([
        `${catalogueFile} warning : this model catalogue is not used: models[0].context_window: is not a whole number`,
      ]);
    } finally {
      folder.remove();
    }
  });
});

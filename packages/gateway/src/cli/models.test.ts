import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder, runCli } from "./fixtures/run-cli.ts";

const CONFIG = `
providers:
  openai: { kind: openai, api_key: env:NOBODY_HAS_THIS }
  own: { kind: openai-compatible, preset: vllm, base_url: "http://127.0.0.1:8000/v1" }
deployments:
  big: { provider: openai, model: gpt-4o-2024-11-20, context_window: 64000 }
  house: { provider: own, model: house-7b }
routes:
  default: { chain: [big, house] }
  fast: { chain: [own/house-1b] }
`;
const OURS = {
  updated: "2026-11-20",
  sources: { us: { url: "https://models.example", read: "2026-11-20" } },
  models: [{ names: ["gpt-4o"], context_window: 1_000, capabilities: ["tools"], sources: ["us"] }],
  retirements: [{ on: "openai", names: ["gpt-4o-2024-11-20"], date: "2026-11-01", source: "us" }],
};

interface Listed {
  updated: string;
  data: Record<string, unknown>[];
}

const listed = (out: string): Listed => JSON.parse(out) as Listed;

describe("sluicegate models", () => {
  const KEYS = { NOBODY_HAS_THIS: "sk-x" };

  test("shows what is behind the aliases", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const { code, out, err } = await runCli("models", { dir, variables: KEYS });
    expect([code, err]).toEqual([0, ""]);
    const rows = out.split("\n");
    expect(rows[0]).toMatch(/^DEPLOYMENT +ALIASES +MODEL +WINDOW +OUTPUT +\$IN +\$OUT +RETIRES +CAN +SOURCE$/);
    expect(rows[1]).toMatch(
      /^big +default +gpt-4o-2024-11-20 +64k +16k +2.5 +10 +2027-01-14 +tools .*json_schema.* config \+ catalogue$/,
    );
    expect(rows[2]).toMatch(/^house +default +house-7b +- +- +0 +0 +- +anything +none$/);
    expect(out).toContain("\ncatalogue of 2026-11-30\n");
  });

  test("by alias, by provider, as JSON", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const of = async (flags: string) =>
      listed((await runCli(`models --json ${flags}`, { dir, variables: KEYS })).out).data.map(
        ({ deployment }) => deployment,
      );
    expect(await of("--alias fast")).toEqual(["own/house-1b"]);
    expect(await of("--provider openai")).toEqual(["big"]);
    expect(await of("--provider nobody")).toEqual([]);
    const [big] = listed((await runCli("models --json --provider openai", { dir, variables: KEYS })).out).data;
    expect(big).toMatchObject({
      aliases: ["default"],
      context_window: 64_000,
      max_output: 16_384,
      price: { input: 2.5, cached_input: 1.25, output: 10, source: "book" },
      retires: "2027-01-14",
      modalities: { output: ["text"] },
      sources: expect.arrayContaining([{ url: expect.stringContaining("http"), read: "2026-11-30" }]),
    });
  });

  test("the whole catalogue, without a config or because it is asked for", async () => {
    const bare = await runCli("models --json", { dir: newFolder() });
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const asked = await runCli("models --all --json", { dir, variables: KEYS });
    expect(bare.out).toBe(asked.out);
    const { data } = listed(bare.out);
    expect(data.length).toBeGreaterThan(100);
    expect(data.find(({ model }) => model === "claude-sonnet-5")).toMatchObject({
      provider: "anthropic",
      context_window: 1_000_000,
      price: { source: "book" },
    });
    const { out } = await runCli("models --all --provider anthropic", { dir });
    expect(out).toMatch(/^claude-opus-4-5 +200k +64k +5 +25 +2027-01-22 /m);
  });

  test.each([
    ["--alias nobody", 2, "there is no alias `nobody`"],
    ["--all --alias default", 2, "--all is the catalogue, which knows no aliases"],
  ])("%s", async (flags, code, words) => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const result = await runCli(`models ${flags}`, { dir, variables: KEYS });
    expect(result.code).toBe(code);
    expect(result.err).toContain(words);
  });

  test("a config with errors", async () => {
    const result = await runCli("models", { dir: newFolder({ "sluicegate.yaml": "routes: 1" }) });
    expect([result.code, result.err]).toEqual([1, "error: the config has errors: see `sluicegate check`\n"]);
  });
});

describe("sluicegate models update", () => {
  test("puts a catalogue over the one that ships", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG, "ours.json": JSON.stringify(OURS) });
    const { code, out } = await runCli("models update ours.json --data-dir there", { dir });
    expect([code, out]).toEqual([
      0,
      "there/catalogue.json: 1 models and 1 retirements; taken up at the next start or reload\n",
    ]);
    expect(readFileSync(join(dir, "there", "catalogue.json"), "utf8")).toBe(JSON.stringify(OURS));
    const variables = { NOBODY_HAS_THIS: "sk-x" };
    const { out: shown } = await runCli("models --json --provider openai --data-dir there", { dir, variables });
    expect(listed(shown).data[0]).toMatchObject({ capabilities: ["tools"], retires: "2026-11-01" });
    const { err } = await runCli("check", { dir, variables: { ...variables, SLUICEGATE_DATA_DIR: "there" } });
    expect(err).toBe("");
  });

  test("refuses what is none, line by line, and leaves what was there", async () => {
    const broken = { ...OURS, models: [{ names: ["GPT-4o"], capabilities: ["sight"], sources: ["them"] }], extra: 1 };
    const dir = newFolder({ "ours.json": JSON.stringify(OURS), "broken.json": JSON.stringify(broken) });
    await runCli("models update ours.json", { dir });
    const { code, out } = await runCli("models update broken.json", { dir });
    expect(code).toBe(1);
    expect(out).toContain("broken.json: models[0].names[0]: is not a bare model name");
    expect(out).toContain("broken.json: models[0].capabilities[0]: is not one of tools, ");
    expect(readFileSync(join(dir, "data", "catalogue.json"), "utf8")).toBe(JSON.stringify(OURS));
    const { out: json } = await runCli("models update broken.json --json", { dir });
    expect(JSON.parse(json)).toMatchObject({ ok: false, faults: expect.arrayContaining([expect.any(String)]) });
    writeFileSync(join(dir, "no.json"), "{");
    expect((await runCli("models update no.json", { dir })).out).toContain("no.json: is no JSON: ");
    expect((await runCli("models update gone.json", { dir })).err).toBe("error: gone.json cannot be read (ENOENT)\n");
  });
});

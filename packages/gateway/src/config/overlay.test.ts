import { expect, test } from "vitest";
import { type LoadedConfig, loadConfig } from "./load.ts";
import { type Files, folderWith, lines, loadText, optionsFor } from "./test/load-text.ts";

const BASE = `providers:
  sim: { kind: simulator }
  local: { kind: openai-compatible, preset: ollama }
routes:
  default: { chain: [sim/echo, local/llama3.2], keepalive: 5s }
  fast: { chain: [sim/echo] }
`;

const withOverlay = (overlay: string, envName = "prod"): Promise<LoadedConfig> =>
  loadText(BASE, { envName, files: { [`sluicegate.${envName}.yaml`]: overlay } });

test("maps merge, lists and values replace, null deletes", async () => {
  const { snapshot, problems, source } = await withOverlay(`providers:
  local: null
routes:
  default: { chain: [sim/other] }
  fast: null
  slow: { chain: [sim/slow] }
gateway: { region: uae }
`);
  expect(problems).toEqual([]);
  expect([...(snapshot?.providers.keys() ?? [])]).toEqual(["sim"]);
  expect([...(snapshot?.routes.keys() ?? [])]).toEqual(["default", "slow"]);
  expect(snapshot?.routes.get("default")).toMatchObject({ chain: ["sim/other"], keepaliveMs: 5_000 });
  expect(snapshot?.gateway.region).toBe("uae");
  expect(source.overlay).toMatch(/sluicegate\.prod\.yaml$/);
});

test("a fault is told where it is written: in the overlay or below it", async () => {
  const loaded = await withOverlay("routes:\n  default: { chain: [sim/echo, smi/x] }\n  fast: { keepaliv: 1s }\n");
  expect(loaded.problems.map(({ file, line, column, path }) => [file, line, column, path])).toEqual([
    ["sluicegate.prod.yaml", 2, 32, "routes.default.chain[1]"],
    ["sluicegate.prod.yaml", 3, 11, "routes.fast.keepaliv"],
  ]);
  const below = await loadText(`${BASE}  worse: { chain: [nobody] }\n`, {
    envName: "prod",
    files: { "sluicegate.prod.yaml": "gateway: { region: x }\n" },
  });
  expect(below.problems.map(({ file, line, path }) => [file, line, path])).toEqual([
    ["sluicegate.yaml", 7, "routes.worse.chain[0]"],
  ]);
});

test("null that deletes nothing is refused with the nearest name", async () => {
  expect(lines(await withOverlay("routes:\n  defualt: null\n"))).toEqual([
    "2:3 error routes.defualt: null deletes `defualt`, which the config below does not have; did you mean `default`?",
  ]);
});

test("an overlay of comments changes nothing; one that is broken refuses", async () => {
  expect((await withOverlay("# nothing\n")).problems).toEqual([]);
  expect(lines(await withOverlay("- a\n"))).toEqual([
    "1:1 error : is not a map: a config begins with keys such as `providers:` and `routes:`",
  ]);
});

test("both files' faults are told at once", async () => {
  const loaded = await loadText("routes: [\n", { envName: "prod", files: { "sluicegate.prod.yaml": "\ta: 1\n" } });
  expect(new Set(loaded.problems.map(({ file }) => file))).toEqual(
    new Set(["sluicegate.yaml", "sluicegate.prod.yaml"]),
  );
});

test("an environment without its overlay is refused, with those that there are", async () => {
  const loaded = await loadText(BASE, {
    envName: "prdo",
    files: { "sluicegate.prod.yaml": "", "sluicegate.dev.yaml": "" },
  });
  expect(lines(loaded)).toEqual(["sluicegate.prdo.yaml error : there is no such file; did you mean `prod`?"]);
  const odd = await loadText(BASE, { envName: "../etc" });
  expect(lines(odd)[0]).toContain("cannot be an environment");
});

const load = async (files: Files, variables: Record<string, string>): Promise<LoadedConfig> => {
  const folder = folderWith(files);
  try {
    return await loadConfig(optionsFor(folder.dir, variables));
  } finally {
    folder.remove();
  }
};

test("SLUICEGATE_CONFIG and SLUICEGATE_ENV name the files", async () => {
  const files = { "etc/gate.yml": BASE, "etc/gate.eu-1.yml": "gateway: { region: eu-1 }\n" };
  const loaded = await load(files, { SLUICEGATE_CONFIG: "etc/gate.yml", SLUICEGATE_ENV: "eu-1" });
  expect(loaded.problems).toEqual([]);
  expect(loaded.snapshot?.gateway.region).toBe("eu-1");
  expect(loaded.source.watched.map((path) => path.replace(/^.*etc/, "etc"))).toEqual([
    "etc/gate.yml",
    "etc/gate.eu-1.yml",
  ]);
});

test("a file that was named and is not there refuses; an environment without any config warns", async () => {
  expect(lines(await load({}, { SLUICEGATE_CONFIG: "nope.yaml" }))).toEqual([
    "nope.yaml error : there is no such file",
  ]);
  expect(lines(await load({ "x/y": "" }, { SLUICEGATE_CONFIG: "x" }))).toEqual([
    "x error : is a folder, not a config file",
  ]);
  const zero = await load({}, { SLUICEGATE_ENV: "prod" });
  expect(lines(zero)[0]).toContain("warning : there is no config");
  expect(zero.snapshot).not.toBeNull();
});

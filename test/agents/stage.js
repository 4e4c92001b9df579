// A gateway in front of the simulator, with an alias for each agent, all on one protocol of the provider's.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const KEY = `sg_test_${"a9".repeat(32)}`;
const ADMIN_KEY = "admin-key-of-the-agents";
const ROWS_WAIT_MS = 10_000;

/** A file in the agent's folder: what it holds stands in no request before the command has run. */
export const NOTE = { file: "note.txt", text: "sluicegate-works" };
const COMMAND = `cat ${NOTE.file}`;
/** What the simulated model says once the command has run. */
export const SAYS = "The command has run.";

/** The provider's protocols by their word in a deployment's `api`, each with a provider that speaks it and a model. */
export const APIS = {
  chat: { provider: "openai", model: "gpt-4.1", customTools: false },
  responses: { provider: "openai", model: "gpt-4.1", customTools: true },
  messages: { provider: "anthropic", model: "claude-sonnet-4-5", customTools: false },
  generate: { provider: "gemini", model: "gemini-2.5-pro", customTools: false },
};

/** The simulator's model that calls the agent's tool, and after its result says the text. */
function scripted({ call }, { model, customTools }) {
  const { names, args, custom } = call(COMMAND);
  const given = custom === undefined ? JSON.stringify(args) : customTools ? custom : JSON.stringify({ input: custom });
  return `${model}?${new URLSearchParams({ as: "tool", call: names.join(), args: given, says: SAYS })}`;
}

function configFor(api, agents, simulatorUrl) {
  const aliases = [...new Map(agents.map((agent) => [agent.model, agent])).values()];
  return JSON.stringify({
    providers: {
      openai: { kind: "openai", base_url: `${simulatorUrl}/v1`, api_key: "env:PROVIDER_KEY" },
      anthropic: { kind: "anthropic", base_url: simulatorUrl, api_key: "env:PROVIDER_KEY" },
      gemini: { kind: "gemini", base_url: simulatorUrl, api_key: "env:PROVIDER_KEY" },
    },
    deployments: Object.fromEntries(
      aliases.map((agent) => [
        `to-${agent.model}`,
        { provider: APIS[api].provider, api, model: scripted(agent, APIS[api]) },
      ]),
    ),
    routes: Object.fromEntries(aliases.map(({ model }) => [model, { chain: [`to-${model}`] }])),
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "agents", key: "env:CLIENT_KEY", tenant: "default" }],
  });
}

/** Starts the gateway, as a user would. `main`: its program. `folder`: where its config and its ledger live. */
export async function startStage(main, folder, api, agents, simulatorUrl) {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "sluicegate.yaml");
  writeFileSync(config, configFor(api, agents, simulatorUrl));
  const env = { PATH: process.env.PATH ?? "", HOME: folder, SLUICEGATE_ADMIN_KEY: ADMIN_KEY };
  const child = spawn(
    process.execPath,
    [main, "serve", "--config", config, "--port", "0", "--data-dir", join(folder, "data")],
    { cwd: folder, env: { ...env, PROVIDER_KEY: "any", CLIENT_KEY: KEY }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const url = await servingUrl(child);
  return {
    url,
    key: KEY,
    rows: (alias, count) => settledRows(() => readRows(main, url, alias, env), count),
    stop: () => new Promise((resolve) => child.once("exit", resolve).kill("SIGTERM")),
  };
}

function servingUrl(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code}: ${text.slice(-2_000)}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        text += chunk;
        const url = /serving on (\S+)/.exec(text)?.[1];
        if (url) resolve(url);
      });
    }
  });
}

function readRows(main, url, alias, env) {
  const args = [main, "requests", "--json", "--url", url, "--alias", alias, "--limit", "100"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`sluicegate requests: ${stderr}`);
  return JSON.parse(stdout).data;
}

/** The ledger writes behind the answers. */
async function settledRows(read, count) {
  const until = Date.now() + ROWS_WAIT_MS;
  for (;;) {
    const rows = read();
    if ((rows.length >= count && rows.every(({ status }) => status !== "running")) || Date.now() > until) return rows;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

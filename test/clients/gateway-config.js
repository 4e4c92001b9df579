import { createHash } from "node:crypto";

const APIS = ["chat", "responses", "messages", "generate"];
/** What each alias's deployment does. */
const MODELS = {
  echo: "echo",
  tool: "tool",
  breaks: "errorafter?after=2&status=500",
  limited: "error?status=429&retry_after=7",
  busy: "error?status=503&retry_after=7",
  down: "error?status=500",
  context: "context",
};

/** A config whose aliases are NAME-API, each one deployment of the simulator at `url` that is asked in that dialect. */
export function gatewayConfig(url, key) {
  const all = APIS.flatMap((api) => Object.entries(MODELS).map(([name, model]) => ({ api, name, model })));
  return [
    "providers:",
    `  sim: { kind: simulator, base_url: "${url}/v1" }`,
    `  plain: { kind: openai-compatible, base_url: "${url}/v1" }`,
    `  google: { kind: gemini, base_url: "${url}", api_key: k }`,
    "deployments:",
    ...all.map(
      ({ api, name, model }) =>
        `  ${name}-${api}: { provider: sim, model: "sim/${modelFor(api, model)}", api: ${api} }`,
    ),
    "routes:",
    "  default: { chain: [sim/echo] }",
    "  denied: { chain: [sim/echo] }",
    "  embed-openai: { chain: [plain/echo] }",
    "  embed-gemini: { chain: [google/echo] }",
    ...all.map(({ api, name }) => `  ${name}-${api}: { chain: [${name}-${api}], retries: { base: 1ms, cap: 1ms } }`),
    "tenants: { default: { models: { allow: ['*', 'sim/*'], deny: [denied] } } }",
    `keys: [{ id: clients, hash: "sha256:${createHash("sha256").update(key).digest("hex")}", tenant: default }]`,
  ].join("\n");
}

/** Google's is Gemini 3: calls must bring their signatures back to it. */
function modelFor(api, model) {
  const [name, options] = model.split("?");
  return api === "generate" ? `gemini-3-flash?as=${name}${options ? `&${options}` : ""}` : model;
}

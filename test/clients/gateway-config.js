import { createHash } from "node:crypto";

const APIS = ["chat", "responses", "messages", "generate"];
/** A JSON text as an option of a model's name. */
const option = (value) => encodeURIComponent(JSON.stringify(value));
/** Two items, as Instructor wants an iterable: arguments of a call, or the text where no tool is offered. */
const TWO = option({
  tasks: [
    { city: "Oslo", degrees: 12 },
    { city: "Rome", degrees: 20 },
  ],
});
/** What each alias's deployment does. */
const MODELS = {
  echo: "echo",
  tool: "tool",
  parallel: "tool?calls=2",
  reason: "reason",
  mirror: "mirror",
  list: `tool?args=${TWO}&says=${TWO}`,
  /** Calls a tool with what does not fit, and says what is no JSON; the next time both are right. */
  miscalls: `tool?args=${option({ city: "Oslo", degrees: "mild" })}&times=1`,
  babbles: "tool?says=mild&times=1",
  breaks: "errorafter?after=2&status=500",
  limited: "error?status=429&retry_after=7",
  busy: "error?status=503&retry_after=7",
  down: "error?status=500",
  context: "context",
  filter: "filter",
  filtered: "filter200",
  cutoff: "echo?finish=length",
};
/** LlamaIndex's class for OpenAI takes no name but OpenAI's. */
const BY_OPENAI = { "gpt-4o": "chat", "gpt-4o-mini": "responses", "gpt-4.1": "messages", "gpt-4.1-mini": "generate" };
/** However often the SDKs ask for failures, each is the provider's own; and nobody waits as long as `retry_after` says. */
const CALM = "breaker: { consecutive: 1000, min_requests: 100000 }";
const SHORT = "retries: { base: 1ms, cap: 1ms }, timeouts: { total: 5s }, when_all_cooling: refuse";

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
        `  ${name}-${api}: { provider: sim, model: "sim/${modelFor(api, model)}", api: ${api}, ${CALM} }`,
    ),
    "routes:",
    "  default: { chain: [sim/echo] }",
    "  denied: { chain: [sim/echo] }",
    "  embed-openai: { chain: [plain/echo] }",
    "  embed-gemini: { chain: [google/echo] }",
    ...Object.entries(BY_OPENAI).map(([name, api]) => `  ${name}: { chain: [parallel-${api}], ${SHORT} }`),
    ...all.map(({ api, name }) => `  ${name}-${api}: { chain: [${name}-${api}], ${SHORT} }`),
    "tenants: { default: { models: { allow: ['*', 'sim/*'], deny: [denied] } } }",
    `keys: [{ id: clients, hash: "sha256:${createHash("sha256").update(key).digest("hex")}", tenant: default }]`,
  ].join("\n");
}

/** Each dialect's has a name of its own, because `times` counts by name. Google's is Gemini 3: calls must bring their signatures back to it. */
function modelFor(api, model) {
  const [name, options] = model.split("?");
  const own = `tag=${api}${options ? `&${options}` : ""}`;
  return api === "generate" ? `gemini-3-flash?as=${name}&${own}` : `${name}?${own}`;
}

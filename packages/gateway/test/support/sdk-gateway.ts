import type { Simulator } from "@sluicegate/simulator";
import { startTestGateway, type TestGateway } from "./gateway.ts";

/*
 * One gateway in front of one simulator, which is asked in each of the four dialects: what a client library must not notice.
 * Aliases are NAME-API.
 */

/** The dialects in which a deployment is asked. */
export const APIS = ["chat", "responses", "messages", "generate"] as const;

/** One of them. */
export type Api = (typeof APIS)[number];

/** What each alias's deployment does. */
const MODELS = {
  echo: "echo",
  fixed: "fixed?input=6000&cached=5000&output=300",
  tool: "tool",
  parallel: "tool?calls=2",
  nothing: "tool?args=%7B%7D",
  reason: "reason",
  json: "json",
  mirror: "mirror",
  /** LangChain shows pictures to models of such names only. */
  "vision-mirror": "mirror",
  refuse: "refuse",
  cutoff: "echo?finish=length",
  endless: "long?tokens=5000&between=5ms",
  breaks: "errorafter?after=2&status=500",
  limited: "error?status=429&retry_after=7",
  busy: "error?status=503&retry_after=7",
  down: "error?status=500",
  context: "context",
  filter: "filter",
  denied: "echo?tag=denied",
} as const;

/** What an alias does, less its dialect. */
export type ModelName = keyof typeof MODELS;

/** How often a deployment is asked in all, whatever the client library adds. */
export const ATTEMPTS = 2;

/** The alias of a model behind a deployment of a dialect. */
export function alias(name: ModelName, api: Api): string {
  return `${name}-${api}`;
}

/** Embeddings, asked in OpenAI's and in Google's dialect. */
export const EMBEDDERS = ["embed-openai", "embed-gemini"] as const;

/** Starts it. A failed attempt is tried once more, without waiting, unless the provider wants it otherwise. */
export function startSdkGateway(): Promise<TestGateway> {
  const all = APIS.flatMap((api) => Object.entries(MODELS).map(([name, model]) => ({ api, name, model })));
  const deployments = all.map(
    ({ api, name, model }) => `  ${name}-${api}: { provider: sim, model: "sim/${modelFor(api, model)}", api: ${api} }`,
  );
  const routes = all.map(
    ({ api, name }) =>
      `  ${name}-${api}: { chain: [${name}-${api}], retries: { attempts: ${ATTEMPTS}, base: 1ms, cap: 1ms, budget: 1 }, timeouts: { hop: 5s, total: 5s } }`,
  );
  return startTestGateway({
    forgives: true,
    config: [
      "providers:",
      "  sim: { kind: simulator, base_url: SIMULATOR }",
      "  plain: { kind: openai-compatible, base_url: SIMULATOR }",
      "  google: { kind: gemini, base_url: SIMULATOR_HOST, api_key: k }",
      ...["deployments:", ...deployments, "routes:", ...routes],
      ...["  embed-openai: { chain: [plain/echo] }", "  embed-gemini: { chain: [google/echo] }"],
      `tenants: { default: { models: { allow: ['*'], deny: [${APIS.map((api) => alias("denied", api)).join(", ")}] } } }`,
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ].join("\n"),
  });
}

/** Google's is Gemini 3: calls must bring their signatures back to it. */
function modelFor(api: Api, model: string): string {
  const [name, options] = model.split("?");
  return api === "generate" ? `gemini-3-flash?as=${name}${options ? `&${options}` : ""}` : model;
}

/** What the simulator billed for the last call; output includes reasoning, input what was cached. */
export function lastBill(simulator: Simulator): {
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  total_tokens: number;
} {
  const line = simulator.invoice().lines.at(-1);
  if (!line) throw new Error("nothing was billed");
  const { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens } = line;
  return {
    ...{ input_tokens, cached_input_tokens, output_tokens, reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  };
}

/** The body that reached the simulator last, as JSON text. */
export function lastBody(simulator: Simulator): string {
  return JSON.stringify(simulator.requests().recent.at(-1)?.body ?? null);
}

/** How often the simulator is asked while `work` runs. */
export async function hitsOf(simulator: Simulator, work: () => Promise<unknown>): Promise<number> {
  const before = simulator.requests().total;
  await work();
  return simulator.requests().total - before;
}

/** What only its maker can have made in a request: the simulator's mark in a signature of each dialect that has some. */
export const PROOF: Readonly<Record<Api, RegExp>> = {
  chat: /"reasoning_content":"[^"]+"/,
  responses: /"encrypted_content":"gAAAAABs/,
  messages: /"signature":"c2x1aWNlZ2F0ZS1zaW11bGF0b3I6/,
  generate: /"thoughtSignature":"c2x1aWNlZ2F0ZS1zaW11bGF0b3I6/,
};

/** A picture of one pixel, base64. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What `work` is refused with. */
export async function refusal(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

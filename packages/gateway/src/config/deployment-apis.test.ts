import { expect, test } from "vitest";
import { type BadConfig, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

const of = (provider: string, deployment: string): string =>
  `providers: { x: ${provider} }\ndeployments:\n  d: { provider: x, ${deployment} }\nroutes: { default: { chain: [d] } }\n`;
const COHERE = "{ kind: cohere, api_key: k }";
const VERTEX = "{ kind: vertex, project: p, location: us-east5, base_url: 'http://127.0.0.1:9', api_key: k }";
const AZURE = "{ kind: azure-openai, endpoint: 'https://a.openai.azure.com', api_version: 2024-10-21, api_key: k }";

const REFUSED: readonly BadConfig[] = [
  [
    "an API that a preset has not",
    of("{ kind: openai-compatible, preset: groq, api_key: k }", "model: m-1, api: ▸responses"),
    "deployments.d.api",
    "`responses` is no API of preset groq for `m-1`: it has chat",
  ],
  [
    "one that ended",
    of("{ kind: openai-compatible, preset: perplexity, api_key: k }", "model: m-1, api: ▸chat"),
    "deployments.d.api",
    "it has responses",
  ],
  ["another vendor's", of(COHERE, "model: command-a-03-2025, api: ▸messages"), "deployments.d.api", "it has chat"],
  [
    "one of another model's",
    of(VERTEX, "model: gemini-2.5-pro, api: ▸messages"),
    "deployments.d.api",
    "it has generate",
  ],
  [
    "one that its version has not",
    of(AZURE, "model: gpt-4o-2024-11-20, api: ▸responses"),
    "deployments.d.api",
    "it has chat",
  ],
  [
    "any, of a kind with one of its own",
    of("{ kind: bedrock, region: us-east-1, api_key: k }", "model: 'amazon.nova-pro-v1:0', api: ▸chat"),
    "deployments.d.api",
    "it has one of its own; leave `api` out",
  ],
];

testRefused(REFUSED);

test.each([
  ["{ kind: openai-compatible, base_url: 'http://127.0.0.1:9/v1' }", "model: m, api: responses"],
  ["{ kind: openai-compatible, base_url: 'http://127.0.0.1:9/v1' }", "model: m, api: chat"],
  ["{ kind: openai-compatible, preset: xai, api_key: k }", "model: grok-4.5, api: responses"],
  [VERTEX, "model: claude-sonnet-4-5@20250929, api: messages"],
  [COHERE, "model: command-a-03-2025, api: chat"],
  ["{ kind: mistral, api_key: k }", "model: mistral-large-2512, api: chat"],
])("%s has %s", async (provider, deployment) => {
  expect(lines(await loadText(of(provider, deployment))).filter((line) => line.includes("error"))).toEqual([]);
});

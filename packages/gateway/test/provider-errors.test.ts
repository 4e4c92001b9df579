import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectNothingInside, type Seen, seen } from "./support/answers.ts";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { payloadsOf } from "./support/loose-json.ts";
import { toldOf, wrongError, wrongStreamError } from "./support/matrix-expected.ts";
import { rowsOf } from "./support/matrix-run.ts";
import { API_KEY, FAULTS, type Fault, FINAL, PROVIDERS, WORDS } from "./support/provider-faults.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Every provider's own way to fail, before and behind the first words, to a client of every dialect. */

const CLIENTS: readonly ClientName[] = ["chat", "responses", "messages", "gemini", "gemini-array"];

/** How a provider's deployment stands: all there is, or with another one behind it. */
type Chain = "alone" | "next";

interface Case {
  name: string;
  fault: Fault;
  /** Its provider: one for each fault. */
  provider: string;
  client: ClientName;
  chain: Chain;
  /** Alias, deployment and model: each case has its own, so that none is kept waiting for what another one did. */
  id: string;
}

const CASES: readonly Case[] = FAULTS.flatMap((fault, index) =>
  CLIENTS.filter((client) => fault.stream || client !== "gemini-array").flatMap((client) =>
    (["alone", "next"] as const).map((chain) => ({
      ...{ name: `${fault.name}, ${client}, ${chain}`, fault, client, chain },
      ...{ provider: `f${index}`, id: `f${index}-${client}-${chain}` },
    })),
  ),
);
const OTHER_TEXT = "from the other";

let upstream: Upstream;
let gateway: TestGateway;
/** Calls that came, by model. */
const hits = new Map<string, number>();

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.answer((response, { path, body }) => {
    const said = body.toString("utf8");
    // The model stands in the path or in the body.
    const [model = ""] = /f\d+-[a-z]+(?:-array)?-(?:alone|next)|the-other/.exec(path + said) ?? [];
    hits.set(model, (hits.get(model) ?? 0) + 1);
    const fault = FAULTS[Number(/^\/f(\d+)\//.exec(path)?.[1])];
    if (fault) return void response.writeHead(fault.status, { "content-type": fault.contentType }).end(fault.body);
    const stream = said.includes('"stream":true');
    const events = `${chatChunk({ role: "assistant", content: OTHER_TEXT }, "stop")}data: [DONE]\n\n`;
    response
      .writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" })
      .end(stream ? events : chatAnswer(OTHER_TEXT));
  });
  gateway = await startTestGateway({ config: config(upstream.url), variables: { UPSTREAM_KEY: API_KEY } });
  await playAll();
}, 180_000);

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Only a deployment that has to say by which API it is called is in the config: hundreds of them take a while to read. */
function deploymentOf({ id, provider, fault }: Case): string {
  return PROVIDERS[fault.provider].api === undefined ? `${provider}/${id}` : id;
}

function config(url: string): string {
  return [
    "providers:",
    ...FAULTS.map(({ provider }, index) => {
      const { settings } = PROVIDERS[provider];
      const version = settings.includes("preset: xai") ? "/v1" : "";
      return `  f${index}: { ${settings}, base_url: '${url}/f${index}${version}', api_key: env:UPSTREAM_KEY }`;
    }),
    `  other: { kind: openai-compatible, base_url: '${url}/other/v1' }`,
    "deployments:",
    ...CASES.flatMap(({ id, fault, provider }) => {
      const { api } = PROVIDERS[fault.provider];
      return api === undefined ? [] : [`  ${id}: { provider: ${provider}, model: ${id}, api: ${api} }`];
    }),
    "  other: { provider: other, model: the-other }",
    "routes:",
    ...CASES.map((entry) => {
      const next = entry.chain === "next" ? ", other" : "";
      return `  ${entry.id}: { chain: [${deploymentOf(entry)}${next}], retries: { attempts: 1 } }`;
    }),
    "tenants: { default: { models: { allow: ['*'] }, allow: [priority_high] } }",
    "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
  ].join("\n");
}

function expectTold({ fault, client }: Case, answer: Seen): void {
  const told = toldOf(fault.class, fault.status);
  const isOwn = PROVIDERS[fault.provider].own.includes(client);
  if (fault.begun) {
    expect(answer.status).toBe(200);
    expect(answer.text.split(WORDS)).toHaveLength(2);
    if (isOwn && fault.verbatim !== null) expect(payloadsOf(answer.text).at(-1)).toEqual(JSON.parse(fault.verbatim));
    else expect(wrongStreamError(client, answer.text, told)).toBeNull();
    return;
  }
  expect(answer.headers.get("content-type")).toBe("application/json");
  if (isOwn && fault.verbatim !== null) {
    expect(answer.text).toBe(fault.verbatim);
    return expect(answer.status).toBe(400);
  }
  expect(wrongError(client, answer.status, JSON.parse(answer.text), told)).toBeNull();
  if (fault.class === "context_overflow" && client === "messages") expect(answer.text).toContain("prompt is too long");
}

/** A case's call, as the client and the ledger see it. */
interface Outcome {
  answer: Seen;
  row: RequestRecord;
}

const CALLS_AT_ONCE = 12;
const outcomes = new Map<string, Outcome>();

async function playAll(): Promise<void> {
  const played: { id: string; requestId: string; answer: Seen }[] = [];
  const waiting = CASES.values();
  const work = async (): Promise<void> => {
    for (const { id, client, fault } of waiting) {
      const dialect = DIALECTS[client];
      const response = await gateway.post(dialect.body(id, fault.stream), {
        path: dialect.path(id, fault.stream),
        // A machine that is busy with other tests is no overload of this gateway.
        headers: { "x-sluicegate-priority": "high" },
      });
      played.push({ id, requestId: response.headers.get("x-request-id") ?? "", answer: await seen(response) });
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
  const rows = await rowsOf({ gateway }, played);
  for (const { id, requestId, answer } of played) {
    const row = rows.get(requestId);
    if (row) outcomes.set(id, { answer, row });
  }
}

describe("a provider's failure", () => {
  test.each(CASES)("$name", (entry) => {
    const { fault, client, chain, id } = entry;
    const { answer, row } = outcomes.get(id) as Outcome;
    expectNothingInside(answer);
    for (const secret of [API_KEY, CLIENT_KEY]) expect(answer.text).not.toContain(secret);
    expect(hits.get(id)).toBe(1);
    const moves = chain === "next" && !fault.begun && !FINAL.has(fault.class);
    expect(row.attempts.map(({ deployment, error_class: kind }) => [deployment, kind])).toEqual([
      [deploymentOf(entry), fault.class],
      ...(moves ? [["other", null]] : []),
    ]);
    if (!moves) {
      expect(row).toMatchObject({ status: "failed", fallback_depth: 0, finish_reason: null });
      expect(row.error_code).toBe(toldOf(fault.class, fault.status).code);
      return expectTold(entry, answer);
    }
    expect(answer.status).toBe(200);
    expect(row).toMatchObject({ status: "ok", error_code: null, fallback_depth: 1 });
    const dialect = DIALECTS[client];
    dialect.check(answer.text, fault.stream);
    expect(dialect.read(Buffer.from(answer.text), fault.stream).choices[0]?.text).toBe(OTHER_TEXT);
  });

  test("asks the other deployment for what may go there, and for nothing else", () => {
    const moved = [...outcomes.values()].filter(({ row }) => row.fallback_depth === 1);
    expect(hits.get("the-other")).toBe(moved.length);
  });
});

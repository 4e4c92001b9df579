import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AttemptSummary, RequestRecord, Usage } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  eventsOf,
  expectedCost,
  expectedFacts,
  expectedFailure,
  expectedStream,
  requestOf,
} from "./support/chat-expected.ts";
import {
  CHAT_SOURCES,
  type ChatSource,
  chatConfig,
  errorShapeSource,
  OTHER_DIALECTS,
  UPSTREAM_MODEL,
  upstreamKey,
} from "./support/chat-sources.ts";
import { freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { lessMetadata } from "./support/less-metadata.ts";
import {
  PLACE_HEADER,
  type ReplayServer,
  readTraffic,
  responseBytes,
  startReplayServer,
  type TrafficRecord,
  trafficDir,
} from "./support/replay-server.ts";

/** Bodies up to this many bytes are also sent one byte at a time. */
const BYTEWISE_MAX = 20_000;

const dir = trafficDir();
/** Records that were played to their end, by file. */
const covered = new Map<string, number>();
/** Streams that were also played without their end mark, and broken off before their finish reason. */
const spoiled = { withoutEnd: 0, cutShort: 0 };
let gateway: TestGateway;
let replay: ReplayServer;

/** One exchange through the gateway: what the client got, what the provider got, what the ledger keeps. */
interface Exchange {
  status: number;
  headers: Headers;
  body: string;
  upstream: { path: string; headers: Record<string, unknown>; body: string };
  row: RequestRecord;
}

/** How a record is played. */
interface Play {
  asksUsage?: boolean;
  /** Pieces of that many bytes; absent: whole. */
  cut?: number;
  /** The client is told of the gateway: in the answer's last member, or in an event before the end mark. */
  metadata?: boolean;
}

async function play(record: TrafficRecord, source: ChatSource, how: Play): Promise<Exchange> {
  const { asksUsage = false, cut, metadata = false } = how;
  const place = freshName();
  replay.serve(record, cut, place);
  const response = await gateway.post(null, {
    raw: requestOf(record, source, asksUsage).sent,
    headers: { "x-sluicegate-metadata": metadata ? "on" : "off", [PLACE_HEADER]: place },
  });
  const body = Buffer.from(await response.arrayBuffer());
  const upstream = replay.seen(place);
  if (!upstream) throw new Error(`nothing reached the provider: ${response.status} ${body.toString("utf8")}`);
  const row = await gateway.row(response.headers.get("x-request-id") ?? "");
  // Bytes, one character each, so that a difference is readable and nothing is decoded away.
  return { status: response.status, headers: response.headers, body: body.toString("latin1"), upstream, row };
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function expectUpstream(exchange: Exchange, record: TrafficRecord, source: ChatSource, asksUsage: boolean): void {
  const { path, headers, body } = exchange.upstream;
  expect(path).toBe(`/${source.file}${source.path ?? "/v1/chat/completions"}`);
  expect(body).toBe(requestOf(record, source, asksUsage).upstream);
  const { host: _, ...rest } = headers;
  expect(rest).toEqual({
    ...(source.keyHeader
      ? { [source.keyHeader]: upstreamKey(source) }
      : { authorization: `Bearer ${upstreamKey(source)}` }),
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "accept-encoding": "identity",
    "user-agent": "sluicegate",
    [PLACE_HEADER]: expect.any(String),
  });
}

/** Limits and ids of the gateway's own account at the provider are nobody else's. */
function expectNoForeignHeaders({ headers }: Exchange, record: TrafficRecord): void {
  const recorded = Object.keys(record.response.headers).filter((name) => name !== "content-type");
  for (const name of recorded.filter((name) => name !== "x-request-id")) expect(headers.get(name), name).toBeNull();
  expect(headers.get("x-request-id")).toMatch(/^req_/);
}

function providerRequestId({ response: { headers } }: TrafficRecord): string | null {
  return headers["x-request-id"] ?? headers["request-id"] ?? headers["apim-request-id"] ?? null;
}

function expectRow(row: RequestRecord, source: ChatSource, wanted: Partial<RequestRecord>): void {
  const common = { alias: source.file, deployment: source.file, provider: source.file, model: UPSTREAM_MODEL };
  expect(row).toMatchObject({ ...common, dialect: "openai-chat", fallback_depth: 0, ...wanted });
  expect(row.attempts).toHaveLength(1);
  expect(row.attempts[0]).toMatchObject({ n: 1, deployment: source.file, model: UPSTREAM_MODEL, retry: false });
}

/** Tokens and money as the provider reported them; an estimate where it reported nothing. */
function expectMoney(row: RequestRecord, usage: Usage | null): void {
  if (usage) {
    expect(row.usage).toEqual(usage);
    expect(row.cost_state).toBe("known");
    expect(row.cost_micro_usd).toBe(expectedCost(usage));
  } else {
    expect(row.usage.input_tokens).toBeGreaterThan(0);
    expect(row.cost_state).toBe("estimated");
    expect(row.cost_micro_usd).toBe(expectedCost(row.usage));
  }
  expect(row.attempts[0]).toMatchObject({ usage: row.usage, cost_micro_usd: row.cost_micro_usd });
}

async function holdsReply(record: TrafficRecord, source: ChatSource): Promise<void> {
  const facts = expectedFacts(record, source);
  const exchanges = await Promise.all([
    play(record, source, {}),
    play(record, source, { cut: 7 }),
    play(record, source, { metadata: true }),
  ]);
  for (const [nth, exchange] of exchanges.entries()) {
    expect(exchange.status).toBe(200);
    expect(exchange.headers.get("content-type")).toBe("application/json");
    expect(nth === 2 ? lessMetadata(exchange.body, exchange.row) : exchange.body).toBe(
      responseBytes(record).toString("latin1"),
    );
    expectUpstream(exchange, record, source, false);
    expectRow(exchange.row, source, {
      status: "ok",
      stream: false,
      error_code: null,
      finish_reason: facts.finishReason,
      response_model: facts.model,
    });
    expect(exchange.row.attempts[0]).toMatchObject({
      status: "ok",
      error_class: null,
      http_status: 200,
      provider_request_id: providerRequestId(record),
    });
    expectNoForeignHeaders(exchange, record);
    expectMoney(exchange.row, facts.usage);
  }
}

async function holdsStream(record: TrafficRecord, source: ChatSource): Promise<void> {
  const bytes = responseBytes(record);
  const cut = bytes.length <= BYTEWISE_MAX ? 1 : 7;
  const plays = [
    { asksUsage: true, cut },
    { asksUsage: true },
    { asksUsage: false, cut: 7 },
    { asksUsage: false },
    { asksUsage: false, metadata: true },
  ];
  const facts = expectedFacts(record, source);
  await Promise.all(
    plays.map(async (how) => {
      const exchange = await play(record, source, how);
      const { showsUsage } = requestOf(record, source, how.asksUsage);
      const want = expectedStream(bytes.toString("utf8"), showsUsage);
      // An error is the last thing that is said.
      const body = how.metadata && !want.error ? lessMetadata(exchange.body, exchange.row) : exchange.body;
      expectStreamed({ ...exchange, body }, want.bytes);
      expectUpstream(exchange, record, source, how.asksUsage);
      expectMoney(exchange.row, facts.usage);
      expectRow(exchange.row, source, {
        stream: true,
        finish_reason: facts.finishReason,
        response_model: facts.model,
        ...(want.error ? { status: "failed", error_code: "invalid_request" } : { status: "ok", error_code: null }),
      });
      const failure = want.error ? expectedFailure(...errorIn(want.error)).class : null;
      expect(exchange.row.attempts[0]).toMatchObject({
        http_status: 200,
        error_class: failure,
        provider_request_id: providerRequestId(record),
      });
      expectNoForeignHeaders(exchange, record);
    }),
  );
  if (expectedStream(bytes.toString("utf8"), true).error) return;
  await Promise.all([holdsWithoutEnd(record, source), holdsCutShort(record, source)]);
}

function expectStreamed(exchange: Exchange, bytes: string): void {
  expect(exchange.status).toBe(200);
  expect(exchange.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(exchange.body).toBe(bytesOf(bytes));
}

/** Status and code of an error inside a stream. */
function errorIn(event: Record<string, unknown>): [number, unknown] {
  const { status_code, code } = event["error"] as { status_code?: number; code: unknown };
  return typeof code === "number" ? [code, null] : [status_code ?? 500, code];
}

/** The same stream from an upstream that closes behind the last character of its last chunk, end mark and all left out. */
async function holdsWithoutEnd(record: TrafficRecord, source: ChatSource): Promise<void> {
  const text = responseBytes(record).toString("utf8");
  const chunks = eventsOf(text).filter(({ data }) => data?.trim() !== "[DONE]");
  const body = chunks
    .map(({ raw }) => raw)
    .join("")
    .trimEnd();
  const endless = { ...record, response: { ...record.response, body } };
  const facts = expectedFacts(endless, source);
  // Without an end mark and without a finish reason nobody can tell that this was all.
  if (facts.finishReason === null) return;
  const exchange = await play(endless, source, { asksUsage: true, cut: 7 });
  expectStreamed(exchange, expectedStream(body, true).bytes);
  expectRow(exchange.row, source, { status: "ok", finish_reason: facts.finishReason });
  expectMoney(exchange.row, facts.usage);
  spoiled.withoutEnd++;
}

/** The same stream broken off before its finish reason: one error event, and never an answer that looks whole. */
async function holdsCutShort(record: TrafficRecord, source: ChatSource): Promise<void> {
  const events = eventsOf(responseBytes(record).toString("utf8"));
  const finish = events.findIndex(({ raw }) => /"finish_reason": ?"/.test(raw));
  const body = events
    .slice(0, finish)
    .map(({ raw }) => raw)
    .join("");
  if (!/"(?:content|reasoning|reasoning_content|arguments|name)": ?"[^"]/.test(body)) return;
  const short = { ...record, response: { ...record.response, body } };
  const exchange = await play(short, source, { asksUsage: true });
  const [before, after, rest] = exchange.body.split('data: {"error":');
  expectStreamed({ ...exchange, body: before ?? "" }, body);
  expect(rest).toBeUndefined();
  const [error, end] = (after ?? "").split(/(?<=\})\}\n\n/);
  expect(JSON.parse(error ?? "")).toMatchObject({ code: "all_providers_failed" });
  expect(end).toBe("data: [DONE]\n\n");
  expectRow(exchange.row, source, { status: "failed", error_code: "all_providers_failed", finish_reason: null });
  expect(exchange.row.attempts[0]?.error_class).toBe("invalid_response");
  expectCutMoney(exchange.row, expectedFacts(short, source).usage);
  spoiled.cutShort++;
}

/** What a provider that reports as it goes had reported by then, and an estimate of what it had said since. */
function expectCutMoney(row: RequestRecord, usage: Usage | null): void {
  if (!usage) return expectMoney(row, null);
  expect(row.usage).toMatchObject({ ...usage, output_tokens: expect.any(Number) });
  expect(row.usage.output_tokens).toBeGreaterThanOrEqual(usage.output_tokens);
  expect(row.cost_state).toBe("estimated");
  expect(row.cost_micro_usd).toBe(expectedCost(row.usage));
}

async function holdsError(record: TrafficRecord, source: ChatSource): Promise<void> {
  const recorded = JSON.parse(responseBytes(record).toString("utf8")) as { error?: { code?: unknown } };
  const want = expectedFailure(record.response.status, recorded.error?.code);
  const exchanges = await Promise.all([play(record, source, {}), play(record, source, { cut: 7 })]);
  for (const exchange of exchanges) {
    expect(exchange.status).toBe(want.status);
    expect(exchange.headers.get("content-type")).toMatch(/^application\/json/);
    expectUpstream(exchange, record, source, false);
    if (want.verbatim) {
      expect(exchange.body).toBe(responseBytes(record).toString("latin1"));
      expect(exchange.headers.get("x-should-retry")).toBe("false");
    } else {
      expectOwnError(exchange, source, want);
    }
    if (want.status === 429) expectRetryAfter(exchange, record);
    expectRow(exchange.row, source, {
      status: "failed",
      error_code: want.code,
      finish_reason: null,
      response_model: null,
      cost_micro_usd: 0,
      cost_state: "known",
    });
    const { status } = record.response;
    expect(exchange.row.attempts[0]).toMatchObject({
      status: "failed",
      error_class: want.class,
      http_status: status,
      provider_request_id: providerRequestId(record),
    });
  }
}

function expectOwnError(exchange: Exchange, source: ChatSource, want: { code: string; class: string }): void {
  const { error } = JSON.parse(exchange.body) as { error: Record<string, unknown> };
  expect(error["code"]).toBe(want.code);
  const attempts = error["attempts"] as AttemptSummary[];
  expect(attempts).toEqual([{ deployment: source.file, class: want.class }]);
  expect(exchange.body).not.toContain(upstreamKey(source));
}

function expectRetryAfter(exchange: Exchange, record: TrafficRecord): void {
  const { headers } = record.response;
  const asked = Number(headers["retry-after-ms"] ?? Number(headers["retry-after"] ?? 1) * 1_000);
  expect(exchange.headers.get("retry-after-ms")).toBe(String(asked));
  expect(exchange.headers.get("retry-after")).toBe(String(Math.ceil(asked / 1_000)));
  const { error } = JSON.parse(exchange.body) as { error: Record<string, unknown> };
  expect(error).toMatchObject({
    type: "rate_limit_error",
    retry_after_ms: asked,
    scope: `provider:${exchange.row.provider}`,
  });
}

async function holds(record: TrafficRecord, source: ChatSource, file: string): Promise<void> {
  if (record.response.status !== 200) await holdsError(record, source);
  else if (record.stream) await holdsStream(record, source);
  else await holdsReply(record, source);
  covered.set(file, (covered.get(file) ?? 0) + 1);
}

/** Lines of a traffic file, counted without reading it as records. */
function linesOf(file: string): number {
  return readFileSync(join(dir ?? "", `${file}.jsonl`), "utf8").match(/\S[^\n]*/g)?.length ?? 0;
}

/** Says by name what is not played, and holds the reason: none of it is a chat completion. */
function leavesOut(name: string, records: TrafficRecord[]): void {
  test(`left out: ${name}`, () => {
    const chats = records.filter(({ api, request }) => api === "chat" && request.path.includes("/chat/completions"));
    expect(chats.map(({ id }) => id)).toEqual([]);
  });
}

describe.skipIf(dir === null)("recorded chat traffic of the OpenAI family, where SLUICEGATE_TRAFFIC_DIR has it", () => {
  beforeAll(async () => {
    replay = await startReplayServer();
    gateway = await startTestGateway({ forgives: true, config: chatConfig(replay.url, PLACE_HEADER) });
  });

  afterAll(async () => {
    await gateway.close();
    await replay.close();
  });

  describe.each(CHAT_SOURCES.map((source) => [source.file, source] as const))("%s", (file, source) => {
    const records = dir === null ? [] : readTraffic(dir, file);
    test.concurrent.each(records.map((record) => [record.id, record] as const))("%s", (_, record) =>
      holds(record, source, file),
    );
  });

  describe("error-shapes", () => {
    for (const record of dir === null ? [] : readTraffic(dir, "error-shapes")) {
      const source = errorShapeSource(record.provider, record.api);
      if (typeof source === "string") leavesOut(`${record.id}: ${source}`, [record]);
      else test.concurrent(record.id, () => holds(record, source, "error-shapes"));
    }
  });

  describe("chat files of other dialects", () => {
    for (const [file, reason] of Object.entries(OTHER_DIALECTS)) {
      leavesOut(`${file}: ${reason}`, dir === null ? [] : readTraffic(dir, file));
    }
  });

  test.each(CHAT_SOURCES.map(({ file }) => file))("covers every line of %s", (file) => {
    expect(covered.get(file)).toBe(linesOf(file));
  });

  test("covers every line of error-shapes that is of the family", () => {
    const shapes = readTraffic(dir ?? "", "error-shapes");
    const others = shapes.filter(({ provider, api }) => typeof errorShapeSource(provider, api) === "string");
    expect(covered.get("error-shapes")).toBe(linesOf("error-shapes") - others.length);
  });

  test("spoils every stream that has an end to lose, or output before it", () => {
    expect(spoiled).toEqual({ withoutEnd: 122, cutShort: 119 });
  });

  test("knows every file of chat traffic", () => {
    const index = readFileSync(join(dir ?? "", "index.tsv"), "utf8");
    const files = new Set(index.match(/\b[\w-]+-chat\b(?=\t)/g));
    expect([...files].sort()).toEqual([...CHAT_SOURCES.map(({ file }) => file), ...Object.keys(OTHER_DIALECTS)].sort());
  });
});

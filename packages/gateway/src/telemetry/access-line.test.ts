import type { RequestRow, Usage } from "@sluicegate/contract";
import fc from "fast-check";
import { expect, it } from "vitest";
import { LIMITS } from "../core/limits.ts";
import { accessLineWriter } from "./access-line.ts";

/** Few different values, so that runs come again; and now and then one of any kind. */
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b") },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: fc.constantFrom('"', "\\", "\n", "\u007f", "é", "\u2028", "\ud800", "x".repeat(3_000)) },
);
const maybe = fc.option(word, { freq: 3 });
const count = fc.oneof(fc.constantFrom(0, 1), fc.nat(), fc.double());
const ms = fc.option(
  fc.oneof(
    fc.constantFrom(0, 0.1, 12.3, 1e8 + 0.1),
    fc.nat().map((tenths) => tenths / 10),
    fc.double(),
  ),
);
const usage: fc.Arbitrary<Usage> = fc.record({
  input_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  cache_write_1h_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
});

/** Every member of the contract, in its order; one that is added there is missed here by the compiler. */
const row = fc.record({
  request_id: word,
  client_request_id: maybe,
  parent_request_id: maybe,
  purpose: fc.constantFrom("client", "judge") as fc.Arbitrary<RequestRow["purpose"]>,
  started_at: word,
  tenant: word,
  team: maybe,
  application: maybe,
  agent: maybe,
  user: maybe,
  session: maybe,
  key_id: maybe,
  alias: maybe,
  route: maybe,
  rule: maybe,
  variant: maybe,
  dialect: word,
  stream: fc.boolean(),
  status: fc.constantFrom("ok", "failed") as fc.Arbitrary<RequestRow["status"]>,
  error_code: fc.constantFrom("internal", null) as fc.Arbitrary<RequestRow["error_code"]>,
  finish_reason: maybe,
  deployment: maybe,
  provider: maybe,
  model: maybe,
  response_model: maybe,
  region: maybe,
  template_version: maybe,
  task_class: maybe,
  classification: maybe,
  usage,
  cost_micro_usd: count,
  cost_state: fc.constantFrom("known", "unknown") as fc.Arbitrary<RequestRow["cost_state"]>,
  saved_micro_usd: count,
  cache: fc.constantFrom("bypass", null) as fc.Arbitrary<RequestRow["cache"]>,
  latency_ms: ms,
  ttft_ms: ms,
  overhead_ms: ms,
  fallback_depth: count,
  hedged: fc.boolean(),
  trace_id: maybe,
  tags: fc.dictionary(word, word, { maxKeys: 3 }),
  facts: fc.option(fc.dictionary(fc.string(), fc.jsonValue())),
  repeated: count,
} satisfies { [Name in keyof Required<RequestRow>]: fc.Arbitrary<RequestRow[Name]> });

const plain = (row: RequestRow): string => `{"msg":"request",${JSON.stringify(row).slice(1)}\n`;

it("is the row as JSON.stringify puts it, whatever rows came before", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 30 }), (rows) => {
      const line = accessLineWriter();
      for (const one of rows) expect(line(one)).toBe(plain(one));
    }),
  );
});

it("tells rows apart that differ in one member", () => {
  fc.assert(
    fc.property(row, row, (first, second) => {
      for (const name of Object.keys(first) as (keyof RequestRow)[]) {
        const line = accessLineWriter();
        const other = { ...first, [name]: second[name] };
        expect([line(first), line(other), line(first)]).toEqual([plain(first), plain(other), plain(first)]);
      }
    }),
  );
});

it("keeps no more than it may, of keys that come and go and of forms of one", () => {
  const line = accessLineWriter();
  const [base] = fc.sample(row, { numRuns: 1, seed: 1 });
  if (!base) throw new Error("no row");
  for (let n = 0; n < 3 * LIMITS.rememberedKeysMax; n++) {
    const one = { ...base, key_id: `key-${n}`, alias: `alias-${n}`, deployment: `deployment-${n}` };
    const form = { ...base, agent: `agent-${n}`, rule: `rule-${n}`, finish_reason: `reason-${n}` };
    expect([line(one), line(form)]).toEqual([plain(one), plain(form)]);
  }
});

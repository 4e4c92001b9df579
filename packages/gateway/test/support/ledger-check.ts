import type { AttemptRow, RequestRecord } from "@sluicegate/contract";
import type { Invoice, Simulator } from "@sluicegate/simulator";
import { expect } from "vitest";

/** One line of a simulator's invoice. */
export type InvoiceLine = Invoice["lines"][number];

/** Dollars per million tokens: the book's price of the simulator. */
export const SIMULATOR_PRICE: TestPrice = { input: 1, cached: 0.1, output: 2 };

/** A price as a test's config has it; cache writes cost as input. */
export interface TestPrice {
  input: number;
  cached: number;
  output: number;
}

/** What a call costs in micro-USD: whole nano-USD, rounded half up once. Shares no code with what is under test. */
export function microUsd(
  tokens: { input_tokens: number; cached_input_tokens: number; output_tokens: number },
  price: TestPrice,
): number {
  const nano = (usd: number): bigint => BigInt(Math.round(usd * 1_000));
  const sum =
    BigInt(tokens.input_tokens - tokens.cached_input_tokens) * nano(price.input) +
    BigInt(tokens.cached_input_tokens) * nano(price.cached) +
    BigInt(tokens.output_tokens) * nano(price.output);
  return Number((sum + 500n) / 1_000n);
}

/** All rows of the ledger, page by page, newest first. `query` narrows them: `status=running`. */
export async function allRows(admin: (path: string) => Promise<Response>, query = ""): Promise<RequestRecord[]> {
  const rows: RequestRecord[] = [];
  for (let cursor: string | undefined; ; ) {
    const response = await admin(`/admin/requests?limit=1000&${query}${cursor ? `&cursor=${cursor}` : ""}`);
    if (!response.ok) throw new Error(`the list of requests came with ${response.status}: ${await response.text()}`);
    const page = (await response.json()) as { data: RequestRecord[]; next_cursor?: string };
    rows.push(...page.data);
    cursor = page.next_cursor;
    if (!cursor) return rows;
  }
}

/** Calls that reached the simulator, by the marker in their first message. */
export function hitsByMarker(simulator: Simulator): Map<string, string[]> {
  const hits = new Map<string, string[]>();
  for (const { body, request_id } of simulator.requests().recent) {
    const marker = (body as { messages?: { content?: unknown }[] } | null)?.messages?.[0]?.content;
    if (typeof marker !== "string") throw new Error(`call ${request_id} carries no marker`);
    hits.set(marker, [...(hits.get(marker) ?? []), request_id]);
  }
  return hits;
}

/** The invoice's lines by the request id that its answers carried. */
export function linesById(simulator: Simulator): Map<string, InvoiceLine> {
  return new Map(simulator.invoice().lines.map((line) => [line.request_id, line]));
}

/** What an attempt and an invoice line have in common. */
function tokensOf(of: AttemptRow["usage"] | InvoiceLine): Record<string, number> {
  const { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens } = of;
  return { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens };
}

/**
 * Holds one attempt against the invoice: what it knows the provider to have billed is what was billed, to the token and
 * the micro-USD. `price` null: none is known. Gives back the line, if there is one.
 */
export function expectBilled(
  attempt: AttemptRow,
  lines: ReadonlyMap<string, InvoiceLine>,
  price: TestPrice | null,
): InvoiceLine | null {
  const line = attempt.provider_request_id === null ? null : (lines.get(attempt.provider_request_id) ?? null);
  const used = attempt.usage.input_tokens + attempt.usage.output_tokens > 0;
  if (price === null) {
    expect(attempt).toMatchObject({ cost_micro_usd: 0, cost_state: used ? "unknown" : "known" });
    return line;
  }
  expect(attempt.cost_micro_usd).toBe(microUsd(attempt.usage, price));
  if (attempt.cost_state !== "known" || !used) return line;
  expect(line, `no invoice line for ${JSON.stringify(attempt)}`).not.toBeNull();
  if (line) {
    expect(line.model).toBe(attempt.model);
    expect({ id: line.request_id, ...tokensOf(attempt.usage) }).toEqual({ id: line.request_id, ...tokensOf(line) });
  }
  return line;
}

/** The request's figures are the sums of its attempts'. */
export function expectSums(row: RequestRecord): void {
  const sum = { cost_micro_usd: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_tokens: 0 };
  for (const { usage, cost_micro_usd } of row.attempts) {
    sum.cost_micro_usd += cost_micro_usd;
    for (const [name, count] of Object.entries(tokensOf(usage))) sum[name as keyof typeof sum] += count;
  }
  expect({ cost_micro_usd: row.cost_micro_usd, ...tokensOf(row.usage) }).toEqual(sum);
  expect(row.attempts.map(({ n }) => n)).toEqual(row.attempts.map((_, index) => index + 1));
}

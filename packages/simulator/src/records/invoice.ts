import { Ring } from "./ring.ts";

const MODELS_MAX = 10_000;
const OTHER = "(other)";

/** Billed tokens. Input includes cached and cache-write tokens, output includes reasoning. */
export interface BilledTokens {
  requests: number;
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
}

/** One billed call. Figures grow while a stream runs. */
export interface InvoiceLine {
  /** Number of the call, the one in its request id. */
  readonly n: number;
  readonly request_id: string;
  readonly model: string;
  readonly path: string;
  /** The wire format spoken: `openai-chat`, `openai-responses`, … */
  readonly dialect: string;
  readonly stream: boolean;
  /** HTTP status sent, 0 while or when none was. */
  status: number;
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  /** The usage was sent to the peer completely. */
  reported: boolean;
  /** The answer ran to its proper end. */
  finished: boolean;
  /** The peer left before the answer was through. */
  client_closed: boolean;
}

/** Everything billed since the start or the last reset. `lines` holds the latest ones, the sums hold all. */
export interface InvoiceReport {
  total: BilledTokens;
  by_model: Record<string, BilledTokens>;
  lines: InvoiceLine[];
}

/** What a call is known to cost from its start. */
export interface OpeningCharge {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
}

/** A line with the sums it counts into. */
export interface Bill {
  readonly line: InvoiceLine;
  readonly sums: readonly BilledTokens[];
}

/** Raises a bill to this much output, reasoning included in it. */
export function charge(bill: Bill, output: number, reasoning: number): void {
  for (const sum of bill.sums) {
    sum.output_tokens += output - bill.line.output_tokens;
    sum.reasoning_tokens += reasoning - bill.line.reasoning_tokens;
  }
  bill.line.output_tokens = output;
  bill.line.reasoning_tokens = reasoning;
}

/** Bills every call exactly once; sums stay exact however few lines are kept. */
export class Invoice {
  readonly #lines: Ring<InvoiceLine>;
  #total = noTokens();
  #byModel = new Map<string, BilledTokens>();

  constructor(linesMax: number) {
    this.#lines = new Ring(linesMax);
  }

  /** Opens a line and charges its input. */
  open(
    call: Pick<InvoiceLine, "n" | "request_id" | "model" | "path" | "dialect" | "stream">,
    cost: OpeningCharge,
  ): Bill {
    const line: InvoiceLine = {
      n: call.n,
      request_id: call.request_id,
      model: call.model,
      path: call.path,
      dialect: call.dialect,
      stream: call.stream,
      status: 0,
      input_tokens: cost.input,
      cached_input_tokens: cost.cached,
      cache_write_tokens: cost.cacheWrite,
      output_tokens: 0,
      reasoning_tokens: 0,
      reported: false,
      finished: false,
      client_closed: false,
    };
    this.#lines.push(line);
    const sums = [this.#total, this.#sumsOf(call.model)];
    for (const sum of sums) {
      sum.requests += 1;
      sum.input_tokens += cost.input;
      sum.cached_input_tokens += cost.cached;
      sum.cache_write_tokens += cost.cacheWrite;
    }
    return { line, sums };
  }

  report(): InvoiceReport {
    const byModel = [...this.#byModel].map(([model, sums]): [string, BilledTokens] => [model, { ...sums }]);
    return {
      total: { ...this.#total },
      by_model: Object.fromEntries(byModel),
      lines: this.#lines.toArray().map((line) => ({ ...line })),
    };
  }

  reset(): void {
    this.#lines.clear();
    this.#total = noTokens();
    this.#byModel = new Map();
  }

  #sumsOf(model: string): BilledTokens {
    const key = this.#byModel.has(model) || this.#byModel.size < MODELS_MAX ? model : OTHER;
    const known = this.#byModel.get(key);
    if (known !== undefined) return known;
    const sums = noTokens();
    this.#byModel.set(key, sums);
    return sums;
  }
}

function noTokens(): BilledTokens {
  return {
    requests: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  };
}

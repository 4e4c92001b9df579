import { randomBytes } from "node:crypto";
import { type Model, resolveModel } from "./models/resolve.ts";
import { ResponseStore } from "./openai-responses/store.ts";
import { Invoice } from "./records/invoice.ts";
import { Requests } from "./records/requests.ts";
import { Script } from "./script/script.ts";
import { IssuedTokens } from "./tokens/issued.ts";
import { Turns } from "./turns.ts";

const RESOLVED_MAX = 1000;

/** How a simulator is started. */
export interface SimulatorOptions {
  /** TCP port; 0 (the default) takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** A call without a bearer token is a 401. Default false. */
  readonly requireKey?: boolean;
  /** Request fields that the wire format does not document are a 400, as the option `strict=1` has it. Default false. */
  readonly strict?: boolean;
  /** How many invoice lines are kept; the sums hold all. Default 100,000. */
  readonly invoiceLines?: number;
  /** How many of the latest calls are kept with headers and body. Default 200. */
  readonly recentRequests?: number;
  /** Letters and digits. Simulators of one account read each other's encrypted reasoning. Default: one of its own. */
  readonly account?: string;
}

/** Everything one simulator remembers. */
export class State {
  readonly options: SimulatorOptions;
  readonly invoice: Invoice;
  readonly requests: Requests;
  readonly script = new Script();
  readonly turns = new Turns();
  /** True once the simulator ends its connections itself. */
  closing = false;
  /** Sets the ids of this simulator's answers apart from another's, and signs what only it may read again. */
  readonly account: string;
  readonly responses = new ResponseStore();
  readonly tokens = new IssuedTokens();
  #calls = 0;
  #models = new Map<string, Model>();

  constructor(options: SimulatorOptions) {
    this.options = options;
    this.account = options.account ?? randomBytes(4).toString("hex");
    this.invoice = new Invoice(options.invoiceLines ?? 100_000);
    this.requests = new Requests(options.recentRequests ?? 200);
  }

  /** Number of the next call; never the same twice, resets included. */
  nextCall(): number {
    this.#calls += 1;
    return this.#calls;
  }

  /** Reads a model name, or remembers having read it. Throws ProblemError. */
  model(full: string): Model {
    const known = this.#models.get(full);
    if (known !== undefined) return known;
    const model = resolveModel(full);
    if (this.#models.size >= RESOLVED_MAX) this.#models.clear();
    this.#models.set(full, model);
    return model;
  }

  /** Forgets calls, bills, rules and counters. */
  reset(): void {
    this.invoice.reset();
    this.requests.reset();
    this.script.clear();
    this.turns.reset();
    this.responses.clear();
    this.tokens.revoke();
  }
}

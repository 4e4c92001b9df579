import { noUsage } from "@sluicegate/contract";
import { inOnePiece } from "../../src/core/pieces.ts";
import type { Transport, UpstreamCall, UpstreamRequest, UpstreamSink } from "../../src/core/transport.ts";
import type { Chance } from "../core/chance.ts";
import type { Journal } from "../core/journal.ts";
import type { WorldClock } from "../core/world-clock.ts";
import type { Act, ActKind } from "./act.ts";
import { Invoice, type InvoiceLine } from "./invoice.ts";
import { failsAs, Play } from "./play.ts";
import { chatWire, messagesWire, type Said } from "./wire.ts";

/** One upstream of a run: how it speaks, and what it does with a call. */
export interface UpstreamSpec {
  deployment: string;
  model: string;
  speaks: "chat" | "messages";
  /** What it does with the next call. */
  act(call: Asked, chance: Chance): Act;
}

/** What an upstream sees of a call before it answers. */
export interface Asked {
  mark: string;
  stream: boolean;
  atMs: number;
  /** What the request itself brings about. */
  wants: ActKind | null;
  words: number;
  body: string;
}

/** What stands in every prompt: whose it is, what it brings about, how long the answer is to be. */
const MARK = /#(c[\d.]+)(?:!(\w+))?:(\d+)#/;

/** Characters of a prompt that one token stands for, as these providers count. */
const CHARS_PER_TOKEN = 5;

/** All the providers of a run, behind every replica's transport. */
export class Upstreams {
  readonly invoice = new Invoice();
  /** What webhooks were told. */
  readonly posts: { atMs: number; origin: string; body: string }[] = [];
  /** Calls that are open now, by deployment. */
  readonly open = new Map<string, number>();
  /** Told of every call as it arrives, and as it ends. */
  onCall: (line: InvoiceLine, asked: Asked) => void = () => {};
  readonly #specs: ReadonlyMap<string, UpstreamSpec>;
  readonly #clock: WorldClock;
  readonly #journal: Journal;
  readonly #chance: Chance;
  readonly #nowMs: () => number;

  constructor(
    specs: readonly UpstreamSpec[],
    clock: WorldClock,
    journal: Journal,
    chance: Chance,
    nowMs: () => number,
  ) {
    this.#specs = new Map(specs.map((spec) => [spec.deployment, spec]));
    this.#clock = clock;
    this.#journal = journal;
    this.#chance = chance;
    this.#nowMs = nowMs;
  }

  call(replica: string, request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const deployment = request.pool.key;
    const spec = this.#specs.get(deployment);
    const body = request.body ? inOnePiece(request.body).toString("utf8") : "";
    if (!spec) return this.#webhook(request, body, sink);
    const [, mark = "?", wants, words = "1"] = MARK.exec(body) ?? [];
    const stream = /"stream":\s*true/.test(body);
    const atMs = this.#clock.elapsedMs;
    const asked: Asked = {
      ...{ mark, stream, atMs, body, words: Number(words) },
      wants: (wants as ActKind | undefined) ?? null,
    };
    const act = spec.act(asked, this.#chance);
    const line = this.invoice.open({
      ...{ replica, deployment, mark, stream, startedMs: atMs },
      act: act.kind,
      fails: failsAs(act, stream),
    });
    this.#opened(deployment, 1);
    this.#journal.say(deployment, `${line.id} ${mark} from ${replica} ${stream ? "stream" : "whole"}: ${act.kind}`);
    this.onCall(line, asked);
    const wire = spec.speaks === "chat" ? chatWire : messagesWire;
    const said = this.#says(act, spec, line, body);
    line.finish = said.finish;
    return new Play({ act, line, said, wire, nowMs: this.#nowMs }, sink, this.#clock, this.#chance, () => {
      this.#opened(deployment, -1);
      this.#journal.say(deployment, `${line.id} ${line.end} ${line.reported ? "usage told" : "no usage told"}`);
    });
  }

  /** Whoever is no deployment is a webhook: it takes what it is told. */
  #webhook({ origin }: UpstreamRequest, body: string, sink: UpstreamSink): UpstreamCall {
    this.posts.push({ atMs: this.#clock.elapsedMs, origin, body });
    const timer = this.#clock.after(1, () => {
      sink.onSent();
      sink.onHeaders(200, {});
      sink.onEnd();
    });
    return { abort: () => timer.cancel(), pause: () => {}, resume: () => {} };
  }

  #opened(deployment: string, by: number): void {
    this.open.set(deployment, (this.open.get(deployment) ?? 0) + by);
  }

  #says(act: Act, spec: UpstreamSpec, line: InvoiceLine, body: string): Said {
    const input = Math.max(1, Math.ceil(body.length / CHARS_PER_TOKEN));
    // OpenAI's servers tell the usage of a stream to those that ask.
    const asks = spec.speaks === "messages" || !line.stream || /"include_usage":\s*true/.test(body);
    return {
      id: line.id,
      model: act.model ?? spec.model,
      words: Array.from(
        { length: act.words },
        (_, i) => act.word ?? (WORDS[(line.order + i) % WORDS.length] as string),
      ),
      usage: {
        ...noUsage(),
        input_tokens: input,
        cached_input_tokens: line.order % 3 === 0 ? input >> 1 : 0,
        output_tokens: act.words,
        ...act.usage,
      },
      finish: act.kind === "cut_short" ? "length" : act.kind === "filtered" ? "content_filter" : "stop",
      showsUsage: act.kind !== "no_usage" && asks,
      marksEnd: act.kind !== "no_done",
    };
  }
}

const WORDS = ["ja ", "né ", "漢字 ", "no ", "🎈 ", '"quoted" ', "line\n", "word ", "\\ "];

/** One replica's way out. */
export class ReplicaTransport implements Transport {
  readonly #upstreams: Upstreams;
  readonly #replica: string;
  readonly #calls = new Set<{ call: UpstreamCall | null }>();
  #dead = false;

  constructor(upstreams: Upstreams, replica: string) {
    this.#upstreams = upstreams;
    this.#replica = replica;
  }

  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    if (this.#dead) return { abort: () => {}, pause: () => {}, resume: () => {} };
    // It may be over before there is a handle on it.
    const held: { call: UpstreamCall | null } = { call: null };
    this.#calls.add(held);
    const ended = (tell: () => void): void => {
      this.#calls.delete(held);
      if (!this.#dead) tell();
    };
    held.call = this.#upstreams.call(this.#replica, request, {
      onSent: () => this.#dead || sink.onSent(),
      onHeaders: (status, headers) => this.#dead || sink.onHeaders(status, headers),
      onData: (chunk) => this.#dead || sink.onData(chunk),
      onEnd: () => ended(() => sink.onEnd()),
      onError: (kind, message) => ended(() => sink.onError(kind, message)),
    });
    const { call } = held;
    return {
      abort: () => {
        this.#calls.delete(held);
        call.abort();
      },
      pause: () => call.pause(),
      resume: () => call.resume(),
    };
  }

  /** Calls that have not ended. */
  get openCalls(): number {
    return this.#calls.size;
  }

  retain(): void {}

  async close(): Promise<void> {}

  /** The machine is gone: its connections close, and nothing is heard. */
  kill(): void {
    this.#dead = true;
    for (const { call } of this.#calls) call?.abort();
    this.#calls.clear();
  }
}

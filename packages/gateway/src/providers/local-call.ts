import {
  callEmbeddingModel,
  callLanguageModel,
  type Failure,
  failureOf,
  type Models,
  type Part,
} from "@sluicegate/adapter-ai-sdk";
import type { Operation } from "../core/call.ts";
import type { UpstreamCall, UpstreamHeaders, UpstreamSink } from "../core/transport.ts";

/** What is asked of a package's model. */
export interface LocalQuestion {
  /** As the protocols write it. */
  body: Buffer;
  headers: Record<string, string>;
  operation: Operation;
}

interface Asked {
  model: string;
  stream?: boolean;
  options?: Record<string, unknown>;
  texts?: string[];
}

/** Headers that speak of bytes nobody sees here. */
const OF_BYTES = /^(?:content-|transfer-encoding$|connection$|keep-alive$|set-cookie$)/i;
/** Settings that change the answer: a package that leaves one out has not done what was asked (ruling 17). */
const MEANT = new Set([
  ...["temperature", "topP", "topK", "frequencyPenalty", "presencePenalty", "seed"],
  ...["stopSequences", "responseFormat", "toolChoice", "tools"],
]);

/** A call of a package's model that looks, to its sink, like one of a server. */
export class LocalCall implements UpstreamCall {
  readonly #sink: UpstreamSink;
  readonly #abort = new AbortController();
  #resumed: Promise<void> | null = null;
  #resume: (() => void) | null = null;

  constructor(models: () => Promise<Models>, question: LocalQuestion, sink: UpstreamSink) {
    this.#sink = sink;
    void this.#run(models, question);
  }

  abort(): void {
    this.#abort.abort();
    this.resume();
  }

  pause(): void {
    this.#resumed ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.#resume?.();
    this.#resume = null;
    this.#resumed = null;
  }

  get #isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  async #run(models: () => Promise<Models>, question: LocalQuestion): Promise<void> {
    let opened: Models;
    try {
      opened = await models();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return this.#isOver ? undefined : this.#sink.onError("connect", message);
    }
    if (this.#isOver) return;
    this.#sink.onSent();
    const asked = JSON.parse(question.body.toString("utf8")) as Asked;
    let begun = false;
    try {
      let headers: UpstreamHeaders = {};
      for await (const part of this.#ask(opened, asked, question)) {
        if (this.#isOver) return;
        if (part.type === "headers") {
          headers = headersOf(part["headers"]);
          continue;
        }
        const refusal = part.type === "stream-start" ? refusalOf(part["warnings"]) : null;
        if (refusal !== null) return this.#answer({ kind: "http", status: 400, headers, body: refusal });
        if (!begun) this.#sink.onHeaders(200, { ...headers, "content-type": contentType(asked) });
        begun = true;
        this.#give(part, asked);
        if (this.#resumed) await this.#resumed;
        if (this.#isOver) return;
      }
      this.#sink.onEnd();
    } catch (error) {
      if (this.#isOver) return;
      const failure = failureOf(error);
      // After the head there is no status to say it with.
      if (begun && failure.kind === "http") this.#sink.onError("reset", failure.body);
      else this.#answer(failure);
    }
  }

  #ask(
    models: Models,
    { model, stream = false, options = {}, texts = [] }: Asked,
    question: LocalQuestion,
  ): AsyncGenerator<Part> {
    const { signal } = this.#abort;
    const { headers, operation } = question;
    if (operation === "embeddings") return callEmbeddingModel(models.embedding(model), { texts, headers, signal });
    return callLanguageModel(models.language(model), { options, stream, headers, signal });
  }

  #give(part: Part, { stream }: Asked): void {
    if (stream) this.#sink.onData(Buffer.from(`data: ${JSON.stringify(part)}\n\n`));
    else if (part.type === "reply") this.#sink.onData(Buffer.from(JSON.stringify(part["reply"])));
  }

  #answer(failure: Failure): void {
    if (failure.kind !== "http") return this.#sink.onError(failure.kind, failure.message);
    this.#sink.onHeaders(failure.status, headersOf(failure.headers));
    this.#sink.onData(Buffer.from(failure.body));
    this.#sink.onEnd();
  }
}

function contentType({ stream }: Asked): string {
  return stream ? "text/event-stream" : "application/json";
}

function headersOf(given: unknown): UpstreamHeaders {
  const entries = Object.entries((given ?? {}) as Record<string, unknown>);
  const kept = entries.flatMap(([name, value]): [string, string][] =>
    typeof value === "string" && !OF_BYTES.test(name) ? [[name.toLowerCase(), value]] : [],
  );
  return Object.fromEntries(kept);
}

/** The error of a call whose meaning the package did not hand on; null: it did. */
function refusalOf(warnings: unknown): string | null {
  for (const warning of Array.isArray(warnings) ? (warnings as Record<string, unknown>[]) : []) {
    const { type } = warning;
    const setting = String(warning["setting"] ?? warning["feature"] ?? (type === "unsupported-tool" ? "tools" : ""));
    if (!String(type).startsWith("unsupported") || !MEANT.has(setting)) continue;
    const details = typeof warning["details"] === "string" ? `: ${warning["details"]}` : "";
    const message = `the package cannot tell this model \`${setting}\`${details}`;
    return JSON.stringify({ error: { message, type: "invalid_request_error", code: "unsupported_parameter" } });
  }
  return null;
}

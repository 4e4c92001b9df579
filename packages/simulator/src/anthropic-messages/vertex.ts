import type { Exchange } from "../exchange.ts";
import type { JsonObject } from "../json.ts";
import { ProblemError, problem } from "../models/problem.ts";
import type { WireFormat } from "../wire.ts";
import { anthropicCount, anthropicMessages } from "./index.ts";
import { ANTHROPIC_MANNERS } from "./manners.ts";
import { wrong } from "./refusals.ts";

const PATH =
  /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/([^/]+):(rawPredict|streamRawPredict)$/;
const VERSION = "vertex-2023-10-16";
const COUNTER = "count-tokens";
/** Beginnings of the betas that Claude takes on Vertex AI. */
const BETAS =
  `claude-code- interleaved-thinking- context-1m- context-management- compact- computer-use- tool-search-tool-
  web-search- per-turn-control- thinking-binding-controls- thinking-display-updates-`.split(/\s+/);

/** Claude on Vertex AI: the model and the mode stand in the path, the version in the body; null when the path is none such. */
export function vertexAnthropic(exchange: Exchange): WireFormat | null {
  const [, name, method] = PATH.exec(exchange.path) ?? [];
  if (name === undefined) return null;
  const counting = name === COUNTER;
  const { headers } = exchange.req;
  // Behind the envelope it is the same service.
  const format = counting ? anthropicCount(exchange) : anthropicMessages(exchange);
  const model = decoded(name);
  const stream = method === "streamRawPredict";
  return {
    ...format,
    ...(!counting && { target: { model, stream } }),
    manners: { ...ANTHROPIC_MANNERS, checkKey },
    read(body, strict, state) {
      checkBetas(headers["anthropic-beta"]);
      const { anthropic_version: version, ...rest } = body;
      if (version !== VERSION) wrong("anthropic_version", version === undefined ? "Field required" : "Invalid version");
      if (!counting && "model" in rest) wrong("model", "Extra inputs are not permitted");
      return format.read(counting ? rest : asked(rest, model, stream), strict, state);
    },
  };
}

function asked(body: JsonObject, model: string, stream: boolean): JsonObject {
  return { ...body, model, ...(stream && { stream }) };
}

function checkBetas(header: string | string[] | undefined): void {
  const sent = String(header ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => beta !== "");
  const unknown = sent.filter((beta) => !BETAS.some((known) => beta.startsWith(known)));
  if (unknown.length === 0) return;
  const names = unknown.map((beta) => `\`${beta}\``).join(", ");
  wrong("", `Unexpected value(s) ${names} for the \`anthropic-beta\` header.`);
}

function checkKey({ req }: Exchange, required: boolean | undefined): void {
  const { authorization, "x-goog-api-key": key } = req.headers;
  const bad = authorization === "Bearer bad-key" || key === "bad-key";
  if (bad || (authorization === undefined && key === undefined && required !== false)) {
    throw new ProblemError(problem("bad_key", 401, "Request had invalid authentication credentials."));
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import { GatewayError, toGatewayError } from "./core/errors.ts";
import type { Exchange } from "./http/exchange.ts";
import { anthropicMessages } from "./protocols/anthropic-messages/index.ts";
import { geminiGenerate } from "./protocols/gemini-generate/index.ts";
import { splitKey } from "./protocols/gemini-generate/path.ts";
import { openaiChat } from "./protocols/openai-chat/index.ts";
import { decoded } from "./protocols/path-segment.ts";
import type { Protocol } from "./protocols/protocol.ts";
import { idHeaders } from "./stages/answer-headers.ts";
import { authenticate } from "./stages/authenticate.ts";
import { allowedAliases } from "./stages/authorize.ts";
import type { DataPlane } from "./stages/plane.ts";
import { openVisit } from "./stages/visit.ts";

/** How a dialect shows models. */
interface ModelShape {
  /** Its errors are the ones its SDKs know. */
  dialect: Protocol;
  /** One alias; `loadedMs`: when the config that names it was loaded, epoch ms. */
  entry(alias: string, loadedMs: number): object;
  list(entries: object[], aliases: readonly string[]): object;
}

const OPENAI: ModelShape = {
  dialect: openaiChat,
  entry: (id, loadedMs) => ({ id, object: "model", created: Math.floor(loadedMs / 1_000), owned_by: "sluicegate" }),
  list: (data) => ({ object: "list", data }),
};

const ANTHROPIC: ModelShape = {
  dialect: anthropicMessages,
  entry: (id, loadedMs) => ({
    type: "model",
    id,
    display_name: id,
    created_at: new Date(loadedMs).toISOString().replace(/\.\d+Z$/, "Z"),
  }),
  // All on one page, whatever `limit` says: nobody has as many aliases as a page may hold.
  list: (data, aliases) => ({ data, has_more: false, first_id: aliases[0] ?? null, last_id: aliases.at(-1) ?? null }),
};

const GEMINI: ModelShape = {
  dialect: geminiGenerate,
  entry: (alias) => ({
    name: `models/${alias}`,
    version: "1",
    displayName: alias,
    // What is behind an alias may change at any time; it is not told what it can do before it is asked.
    supportedGenerationMethods: ["generateContent", "countTokens", "embedContent", "batchEmbedContents"],
  }),
  list: (models) => ({ models }),
};

/** A question about models: in which dialect, and about which one (null: all). */
interface ModelsAsked {
  shape: ModelShape;
  alias: string | null;
  /** Gemini's `?key=`. */
  credential?: string;
}

/**
 * What a path asks about models; null for another path. GET /v1beta/models is Gemini's; of GET /v1/models the headers tell
 * whose it is: `anthropic-version`, `x-goog-api-key`, else OpenAI's. One alias may have its slash encoded or as it is.
 */
export function modelsAsked(exchange: Exchange): ModelsAsked | null {
  const [, beta, , alias] = /^\/v1(beta)?\/models(\/(.+))?$/.exec(exchange.path) ?? [];
  if (alias === undefined && !/^\/v1(beta)?\/models\/?$/.test(exchange.path)) return null;
  const wanted = alias === undefined ? null : decoded(alias);
  if (beta === undefined && exchange.header("anthropic-version") !== undefined)
    return { shape: ANTHROPIC, alias: wanted };
  if (beta === undefined && exchange.header("x-goog-api-key") === undefined) return { shape: OPENAI, alias: wanted };
  const { key } = splitKey(exchange.query);
  return { shape: GEMINI, alias: wanted, ...(key !== undefined && { credential: key }) };
}

/** The aliases this key may use, or one of them, in the asking dialect's shape. */
export function handleModels(plane: DataPlane, exchange: Exchange, { shape, alias, credential }: ModelsAsked): void {
  const { dialect } = shape;
  const visit = openVisit(plane.clock, plane.random, exchange, dialect);
  try {
    const runtime = plane.runtime();
    const { snapshot } = runtime;
    const caller = authenticate(plane, runtime, exchange, credential);
    const aliases = allowedAliases(snapshot, caller);
    const entry = (name: string): object => shape.entry(name, snapshot.loadedAt);
    if (alias === null) return json(exchange, visit, shape.list(aliases.map(entry), aliases));
    if (!aliases.includes(alias)) {
      throw new GatewayError(
        "model_not_found",
        `there is no alias ${JSON.stringify(alias.slice(0, 120))} for this key`,
        {
          param: "model",
        },
      );
    }
    json(exchange, visit, entry(alias));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === "internal") plane.log.fault(visit.requestId, error.details.cause ?? error);
    const answer = dialect.encodeError(error, visit.requestId);
    exchange.respond(answer.status, [...answer.headers, ...idHeaders(visit)], answer.body);
  }
}

function json(exchange: Exchange, visit: { requestId: string }, value: unknown): void {
  exchange.respond(200, ["content-type", "application/json", "x-request-id", visit.requestId], JSON.stringify(value));
}

import { type Delivery, wholeBody } from "../delivery/delivery.ts";
import type { Headers } from "../delivery/failure.ts";
import { frame, plainFraming } from "../delivery/sse.ts";
import type { Exchange } from "../exchange.ts";
import type { JsonObject } from "../json.ts";
import { ProblemError, problem, refuse } from "../models/problem.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import { answerWith } from "../plain-answer.ts";
import type { State } from "../state.ts";
import { type StoredResponse, standing } from "./store.ts";

const PATH = /^\/v1\/responses\/([^/]+)(?:\/(cancel|input_items))?$/;
const ITEMS_MAX = 100;

type Handle = (state: State, response: StoredResponse, query: URLSearchParams, headers: Headers) => Delivery;

const HANDLES: Readonly<Record<string, Handle>> = {
  "GET ": (_state, response, query, headers) =>
    query.get("stream") === "true"
      ? replay(response, query, headers)
      : json(standing(response, performance.now()), headers),
  "DELETE ": (state, { id }, _query, headers) => {
    state.responses.delete(id);
    return json({ id, object: "response", deleted: true }, headers);
  },
  "POST cancel": (_state, response, _query, headers) => {
    if (!response.background) refuse("Cannot cancel a synchronous response.", null);
    if (performance.now() < response.doneAtMs) response.cancelled = true;
    return json(standing(response, performance.now()), headers);
  },
  "GET input_items": (_state, response, query, headers) => json(listItems(response, query), headers),
};

/** Answers a call about a kept response: /v1/responses/{id} and what is under it; false when it is none. */
export function answerResource(state: State, exchange: Exchange): boolean {
  const [whole, id = "", under = ""] = PATH.exec(exchange.path) ?? [];
  const handle = HANDLES[`${exchange.method} ${under}`];
  if (whole === undefined || handle === undefined) return false;
  const query = new URLSearchParams((exchange.req.url ?? "").split("?")[1] ?? "");
  answerWith(state, exchange, null, (headers) => {
    const response = state.responses.get(id);
    if (response !== undefined) return handle(state, response, query, headers);
    throw new ProblemError(problem("not_found", 404, `Response with id '${id}' not found.`));
  });
  return true;
}

function json(value: JsonObject, headers: Headers): Delivery {
  return wholeBody(200, { ...headers, "content-type": OPENAI_MANNERS.jsonType }, JSON.stringify(value));
}

/** The events of the response again, those after `starting_after`. */
function replay({ steps }: StoredResponse, query: URLSearchParams, headers: Headers): Delivery {
  const after = Number(query.get("starting_after") ?? -1);
  const left = steps().slice(Number.isInteger(after) ? after + 1 : 0);
  const body = left.map((step, i) =>
    frame(step, plainFraming(OPENAI_MANNERS.framing), { first: i === 0, last: i === left.length - 1, whole: true }),
  );
  return wholeBody(200, { ...headers, "content-type": OPENAI_MANNERS.streamType }, body.join(""));
}

function listItems({ input }: StoredResponse, query: URLSearchParams): JsonObject {
  const limit = Number(query.get("limit") ?? 20);
  if (!(limit >= 1 && limit <= ITEMS_MAX)) refuse(`Invalid 'limit': expected a value from 1 to ${ITEMS_MAX}.`, "limit");
  const ordered = query.get("order") === "asc" ? [...input] : input.toReversed();
  const after = query.get("after");
  const rest = after === null ? ordered : ordered.slice(ordered.findIndex((item) => item.id === after) + 1);
  const data = rest.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > data.length,
  };
}

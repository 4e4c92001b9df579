import { ProblemError, problem } from "../models/problem.ts";
import { MODELS } from "../models/resolve.ts";

const CREATED = "2026-01-01T00:00:00Z";
const PAGE = 20;
const PAGE_MAX = 1000;

/** GET /v1/models as Anthropic answers it: a page of the names that have a behaviour. */
export function listAnthropicModels(query: URLSearchParams): unknown {
  const names = [...MODELS.keys()].filter((name) => name !== "missing");
  const limit = Math.min(PAGE_MAX, Number(query.get("limit") ?? PAGE) || PAGE);
  const after = names.indexOf(query.get("after_id") ?? "") + 1;
  const before = names.indexOf(query.get("before_id") ?? "");
  const from = before < 0 ? after : Math.max(0, before - limit);
  const page = names.slice(from, before < 0 ? from + limit : before);
  const more = before < 0 ? from + limit < names.length : from > 0;
  const ends = { first_id: page[0] ?? null, last_id: page.at(-1) ?? null };
  return { data: page.map(modelOf), has_more: more, ...ends };
}

/** GET /v1/models/{id}. */
export function anthropicModel(id: string): unknown {
  if (id !== "missing") return modelOf(id);
  throw new ProblemError(problem("model_not_found", 404, "model: missing"));
}

function modelOf(id: string): unknown {
  return { type: "model", id, display_name: id, created_at: CREATED, max_input_tokens: 200_000, max_tokens: 64_000 };
}

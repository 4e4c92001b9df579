import { ProblemError, problem } from "../models/problem.ts";
import { MODELS } from "../models/resolve.ts";
import { queryOf } from "./target.ts";

const PAGE = 50;
const PAGE_MAX = 1000;

/** GET /v1beta/models: the names that have a behaviour, a page at a time. */
export function listGeminiModels(url: string): unknown {
  const query = queryOf(url);
  const size = Math.min(PAGE_MAX, Number(query.get("pageSize") ?? PAGE) || PAGE);
  const from = Number(Buffer.from(query.get("pageToken") ?? "", "base64").toString()) || 0;
  const names = [...MODELS.keys()].filter((name) => name !== "missing");
  const models = names.slice(from, from + size).map(modelOf);
  const next = from + size;
  return { models, ...(next < names.length && { nextPageToken: Buffer.from(String(next)).toString("base64") }) };
}

/** GET /v1beta/models/{id}. */
export function geminiModel(id: string): unknown {
  if (id !== "missing") return modelOf(id);
  const text = "Model is not found: models/missing for api version v1beta";
  throw new ProblemError(problem("model_not_found", 404, text));
}

function modelOf(id: string): unknown {
  return {
    name: `models/${id}`,
    version: "001",
    displayName: id,
    description: MODELS.get(id)?.about ?? "answers the last user message, one delta a word",
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ["generateContent", "countTokens", "embedContent", "batchEmbedContents"],
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxTemperature: 2,
  };
}

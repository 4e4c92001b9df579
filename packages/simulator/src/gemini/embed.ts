import type { JsonObject } from "../json.ts";
import type { Ask } from "../models/ask.ts";
import type { Plan } from "../models/plan.ts";
import { estimateTokens } from "../models/text.ts";
import { embed } from "../vector.ts";
import type { WireRequest } from "../wire.ts";
import { readPart } from "./parts.ts";
import { listAt, membersOf, numberAt, stringAt, wrong } from "./refusals.ts";

const FIELDS = ["model", "content", "taskType", "title", "outputDimensionality"];
const TASKS = `TASK_TYPE_UNSPECIFIED RETRIEVAL_QUERY RETRIEVAL_DOCUMENT SEMANTIC_SIMILARITY CLASSIFICATION CLUSTERING
  QUESTION_ANSWERING FACT_VERIFICATION CODE_RETRIEVAL_QUERY`.split(/\s+/);
const REQUESTS_MAX = 100;
const DIMENSIONS = 3072;

interface Wanted {
  readonly text: string;
  readonly dimensions: number;
}

/** `:embedContent`: one text, one vector. */
export function readEmbed(body: JsonObject): WireRequest {
  const wanted = readWanted(body, "", "EmbedContentRequest");
  return answered([wanted], (plan) => ({ embedding: vectorOf(wanted), ...usageOf(plan) }));
}

/** `:batchEmbedContents`: up to a hundred of them, each naming the model again. */
export function readBatchEmbed(body: JsonObject, model: string): WireRequest {
  const requests = listAt(membersOf(body, ["model", "requests"], "").requests, "requests");
  if (requests.length === 0) wrong("* BatchEmbedContentsRequest.requests: requests is not specified\n");
  if (requests.length > REQUESTS_MAX) {
    wrong(`* BatchEmbedContentsRequest.requests: at most ${REQUESTS_MAX} requests can be in one batch\n`);
  }
  const wanted = requests.map((item, i) => {
    const at = `requests[${i}]`;
    if (membersOf(item, FIELDS, at).model !== `models/${model}`) {
      wrong(
        `* BatchEmbedContentsRequest.${at}.model: unexpected model name format, must match the model of the path\n`,
      );
    }
    return readWanted(item, at, "BatchEmbedContentsRequest");
  });
  return answered(wanted, (plan) => ({ embeddings: wanted.map(vectorOf), ...usageOf(plan) }));
}

function readWanted(value: unknown, at: string, kind: string): Wanted {
  const fields = membersOf(value, FIELDS, at);
  const place = at === "" ? "content" : `${at}.content`;
  if (fields.content === undefined) wrong(`* ${kind}.${place}: content is not specified\n`);
  const content = membersOf(fields.content, ["role", "parts"], place);
  const count = { bytes: 0, media: 0, images: [], calls: [] };
  const parts = listAt(content.parts, `${place}.parts`);
  if (parts.length === 0) wrong(`* ${kind}.${place}: contents.parts must not be empty.\n`);
  const task = stringAt(fields.taskType, `${at}task_type`);
  if (task !== null && !TASKS.includes(task)) wrong(`Invalid value at 'task_type' (TaskType), "${task}"`);
  const text = parts.map((part, i) => readPart(part, `${place}.parts[${i}]`, count).text).join(" ");
  if (text.trim() === "") wrong(`* ${kind}.${place}: content is empty\n`);
  const dimensions = numberAt(fields.outputDimensionality, "output_dimensionality", 1, DIMENSIONS, true);
  return { text, dimensions: dimensions ?? DIMENSIONS };
}

function vectorOf({ text, dimensions }: Wanted): { values: number[] } {
  return { values: Array.from(embed(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text], dimensions)) };
}

/** Newer embedding models count, older ones tell nothing. */
function usageOf({ usage, settings, reportsUsage }: Plan): object {
  if (!reportsUsage || settings.quirk?.has("usage_always") !== true) return {};
  const promptTokenDetails = [{ modality: "TEXT", tokenCount: usage.input }];
  return { usageMetadata: { promptTokenCount: usage.input, promptTokenDetails } };
}

function answered(wanted: readonly Wanted[], say: (plan: Plan) => unknown): WireRequest {
  const ask: Ask = {
    stream: false,
    text: "",
    toolResult: null,
    inputTokens: wanted.reduce((sum, { text }) => sum + estimateTokens(text), 0),
    generates: false,
    tools: [],
    toolChoice: { mode: "none", name: null },
    parallelCalls: false,
    format: { kind: "text" },
    outputTokensMax: null,
    stop: [],
    choices: 1,
  };
  return { ask, json: (plan) => JSON.stringify(say(plan)), steps: () => [] };
}

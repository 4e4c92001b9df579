import { isObject, type JsonObject } from "../json.ts";
import { askFor } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { embed } from "../vector.ts";
import type { WireRequest } from "../wire.ts";
import { listAt, membersOf, numberAt, stringAt, wrong } from "./refusals.ts";

const INSTANCE = ["content", "taskType", "title"];
const INSTANCES_MAX = 250;
const DIMENSIONS = 768;
const TITLED = "RETRIEVAL_DOCUMENT";

/** Vertex AI's `:predict` of an embedding model: an instance a text, each counted for itself. */
export function readPredict(body: JsonObject): WireRequest {
  const { instances: given, parameters } = membersOf(body, ["instances", "parameters"], "");
  const instances = listAt(given, "instances");
  if (instances.length === 0) wrong("No instances were given.");
  if (instances.length > INSTANCES_MAX) wrong(`${instances.length} instance(s) is over the limit of ${INSTANCES_MAX}.`);
  const settings =
    parameters === undefined ? {} : membersOf(parameters, ["outputDimensionality", "autoTruncate"], "parameters");
  const dimensions = numberAt(settings.outputDimensionality, "outputDimensionality", 1, 3072, true) ?? DIMENSIONS;
  const texts = instances.map((instance, i) => textOf(instance, `instances[${i}]`));
  const inputTokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return {
    ask: askFor({ text: "", inputTokens, generates: false }),
    json: () =>
      JSON.stringify({
        predictions: texts.map((text) => predicted(text, dimensions)),
        metadata: { billableCharacterCount: texts.join("").length },
      }),
    steps: () => [],
  };
}

function textOf(instance: unknown, at: string): string {
  if (!isObject(instance)) wrong(`${at} is no object`);
  const { content, taskType: task, title } = membersOf(instance, INSTANCE, at);
  const text = stringAt(content, `${at}.content`);
  if (text === null || text === "") wrong(`${at}: The text content is empty.`);
  if (title !== undefined && task !== TITLED) wrong(`${at}: title is only valid with task_type=${TITLED}`);
  return text;
}

function predicted(text: string, dimensions: number): object {
  const values = Array.from(embed(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text], dimensions));
  return { embeddings: { values, statistics: { token_count: estimateTokens(text), truncated: false } } };
}

import { isObject, type JsonObject } from "../json.ts";
import type { Ask, AskFormat } from "../models/ask.ts";
import { readPoint, readText, Tally } from "./blocks.ts";
import { readMessages, type Turn } from "./messages.ts";
import { checkMembers, listAt, memberOf, numberAt, objectAt, textAt, wrong } from "./refusals.ts";
import { readTools } from "./tools.ts";

const FIELDS = `messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables
  additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig`.split(/\s+/);
const STOPS_MAX = 2_500;

/** Reads and validates the body of `/converse` and `/converse-stream`. */
export function readRequest(body: JsonObject, stream: boolean, strict: boolean): Ask {
  if (strict) checkMembers(body, FIELDS, "");
  const tally = new Tally();
  const system = listAt(body.system, "system").flatMap((item, i) => readSystem(item, `system.${i}`, tally) ?? []);
  const turns = readMessages(body.messages, tally);
  const calls = turns.some(({ blocks }) =>
    blocks.some(({ member }) => member === "toolUse" || member === "toolResult"),
  );
  const { tools, choice } = readTools(body.toolConfig, calls, tally);
  const config = body.inferenceConfig === undefined ? {} : objectAt(body.inferenceConfig, "inferenceConfig");
  checkMembers(config, ["maxTokens", "temperature", "topP", "stopSequences"], "inferenceConfig");
  const temperature = numberAt(config.temperature, "inferenceConfig.temperature", 0, 1);
  const topP = numberAt(config.topP, "inferenceConfig.topP", 0, 1);
  const stop = listAt(config.stopSequences, "inferenceConfig.stopSequences").map((word, i) =>
    textAt(word, `inferenceConfig.stopSequences.${i}`, /[\s\S]/),
  );
  if (stop.length > STOPS_MAX) wrong(`At most ${STOPS_MAX} stop sequences are allowed.`);
  const extra = isObject(body.additionalModelRequestFields) ? body.additionalModelRequestFields : {};
  const reasoning = reasoningOf(extra);
  const results = turns.at(-1)?.blocks.filter(({ member }) => member === "toolResult") ?? [];
  return {
    stream,
    text:
      turns
        .filter(({ role }) => role === "user")
        .map(textOf)
        .findLast((text) => text !== "") ?? "",
    toolResult: results.at(-1)?.text ?? null,
    inputTokens: tally.tokens,
    generates: true,
    tools,
    toolChoice: choice,
    parallelCalls: !(isObject(extra.tool_choice) && extra.tool_choice.disable_parallel_tool_use === true),
    format: readFormat(body.outputConfig),
    outputTokensMax: numberAt(config.maxTokens, "inferenceConfig.maxTokens", 1, Number.MAX_SAFE_INTEGER),
    stop,
    choices: 1,
    thinks: reasoning !== null,
    heard: () => ({
      dialect: "bedrock-converse",
      system: system.join("\n\n") || null,
      messages: turns.map(({ role, blocks }) => ({ role, kinds: blocks.map((block) => block.kind) })),
      tool_results: tally.results,
      images: tally.images,
      temperature,
      top_p: topP,
      tool_calls: tally.calls,
      reasoning,
      cache_markers: tally.points,
    }),
  };
}

function readSystem(item: unknown, at: string, tally: Tally): string | null {
  const [member, content] = memberOf(item, ["text", "cachePoint", "guardContent"], at);
  if (member === "cachePoint") readPoint(content, at, tally);
  return member === "text" ? readText(content, `${at}.text`, tally) : null;
}

function textOf({ blocks }: Turn): string {
  return blocks
    .filter(({ member }) => member === "text")
    .map(({ text }) => text)
    .join("");
}

/** In whatever words the model's own API has for it; null = it is not to think. */
function reasoningOf(extra: JsonObject): string | null {
  const {
    thinking,
    output_config: config,
    reasoning_effort: effort,
    reasoning_config: qwen,
    reasoningConfig: nova,
  } = extra;
  if (isObject(thinking)) {
    if (thinking.type === "enabled") return `budget=${String(thinking.budget_tokens)}`;
    if (thinking.type === "adaptive") return isObject(config) ? String(config.effort) : "adaptive";
    return null;
  }
  if (isObject(nova)) return nova.type === "enabled" ? String(nova.maxReasoningEffort) : null;
  const word = effort ?? qwen;
  return typeof word === "string" ? word : null;
}

function readFormat(value: unknown): AskFormat {
  if (!isObject(value) || value.textFormat === undefined) return { kind: "text" };
  const { type, structure } = objectAt(value.textFormat, "outputConfig.textFormat");
  if (type !== "json_schema") wrong("The type at outputConfig.textFormat must be json_schema.");
  const { jsonSchema } = objectAt(structure, "outputConfig.textFormat.structure");
  const at = "outputConfig.textFormat.structure.jsonSchema";
  const text = textAt(objectAt(jsonSchema, at).schema, `${at}.schema`);
  try {
    return { kind: "schema", schema: JSON.parse(text) };
  } catch {
    return wrong("The schema at outputConfig.textFormat is not valid JSON.");
  }
}

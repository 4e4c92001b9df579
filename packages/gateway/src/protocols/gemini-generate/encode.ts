import type { CanonicalRequest, Tool, ToolChoice } from "../../core/message.ts";
import { describedSchema } from "../described-schema.ts";
import { bodyJson, holdsTexts } from "../exact-json.ts";
import { type Fields, wordOf } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import { CUSTOM_TOOL_PARAMETERS } from "../tool-arguments.ts";
import type { Encoded } from "../translation.ts";
import { encodeContents } from "./encode-contents.ts";
import { badValues, inexpressible } from "./expressible.ts";
import { DIALECT } from "./fields.ts";
import { modelTraits, thinkingConfig } from "./thinking.ts";

const STOP_MAX = 5;
const TIERS = new Set(["standard", "flex", "priority"]);

/** A canonical request as a generateContent body. What cannot be said is left out and listed. */
export function fromCanonical(request: CanonicalRequest, target: Target): Encoded {
  const traits = modelTraits(target.model);
  const dropped = new Set([...inexpressible(request, target), ...unsaidHints(request)]);
  const { systemInstruction, contents } = encodeContents(request.messages, traits, dropped);
  const config = generationConfig(request, target, dropped);
  const thinking = request.reasoning && thinkingConfig(request.reasoning, traits);
  if (thinking) config["thinkingConfig"] = thinking;
  else if (request.reasoning && asksAnything(request.reasoning)) dropped.add("reasoning");
  const tools = encodeTools(request.tools);
  const body: Fields = {
    ...(systemInstruction && { systemInstruction }),
    contents,
    ...(tools.length > 0 && { tools }),
    ...(request.toolChoice && hasFunctions(request.tools) && { toolConfig: toolConfig(request.toolChoice) }),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
    ...tierOf(request, dropped),
  };
  return { body: Buffer.from(bodyJson(body, holdsTexts(request.messages))), dropped: [...dropped] };
}

function asksAnything({ effort, budgetTokens, visible }: NonNullable<CanonicalRequest["reasoning"]>): boolean {
  return effort !== null || budgetTokens !== null || visible !== null;
}

/** Hints Gemini has no word for, and what of the client's body only its own dialect knows. */
function unsaidHints(request: CanonicalRequest): string[] {
  const said: [string, boolean][] = [
    ["parallel_tool_calls", request.parallelToolCalls === false],
    ["metadata", request.metadata !== null],
    ["user", request.user !== null],
    ["verbosity", request.verbosity !== null],
    ["prompt_cache_key", request.promptCacheKey !== null],
    ["strict", request.tools.some((tool) => tool.type === "function" && tool.strict === true)],
    ["cache_control", request.tools.some((tool) => tool.type === "function" && tool.cache !== undefined)],
  ];
  return [...request.foreign.map(({ path }) => path), ...said.flatMap(([field, used]) => (used ? [field] : []))];
}

/** OpenAI's `default` is `standard` here, and `auto` is what is done anyway; anything else is another vendor's. */
function tierOf({ serviceTier }: CanonicalRequest, dropped: Set<string>): Fields {
  if (serviceTier === null || serviceTier === "auto") return {};
  const tier = serviceTier === "default" ? "standard" : serviceTier;
  if (TIERS.has(tier)) return { serviceTier: tier };
  dropped.add("service_tier");
  return {};
}

function generationConfig(request: CanonicalRequest, target: Target, dropped: Set<string>): Fields {
  const bad = new Set<string>(badValues(request, target));
  for (const field of dropped) bad.add(field);
  const config: Fields = {};
  const put = (key: string, field: string, value: unknown): void => {
    if (value !== null && !bad.has(field)) config[key] = value;
  };
  put("maxOutputTokens", "max_output_tokens", request.maxOutputTokens);
  put("temperature", "temperature", request.temperature);
  put("topP", "top_p", request.topP);
  put("topK", "top_k", request.topK);
  put("frequencyPenalty", "frequency_penalty", request.frequencyPenalty);
  put("presencePenalty", "presence_penalty", request.presencePenalty);
  put("seed", "seed", request.seed);
  put("candidateCount", "n", request.n > 1 ? request.n : null);
  // Those that fit still stop.
  if (request.stop.length > 0) config["stopSequences"] = request.stop.slice(0, STOP_MAX);
  if (request.logprobs && !bad.has("logprobs")) {
    config["responseLogprobs"] = true;
    if (request.logprobs.top > 0) config["logprobs"] = request.logprobs.top;
  }
  const format = request.responseFormat;
  if (format && !bad.has("response_format")) {
    config["responseMimeType"] = "application/json";
    if (format.type === "json_schema") config["responseJsonSchema"] = describedSchema(format);
  }
  return config;
}

function hasFunctions(tools: readonly Tool[]): boolean {
  return tools.some((tool) => tool.type !== "hosted");
}

/** Functions that follow each other in one entry; Google's own tools as the client wrote them. JSON Schema goes as it is. */
function encodeTools(tools: readonly Tool[]): Fields[] {
  const entries: Fields[] = [];
  let functions: Fields[] | null = null;
  for (const tool of tools) {
    if (tool.type === "hosted") {
      if (tool.dialect !== DIALECT) continue;
      functions = null;
      entries.push(tool.value as Fields);
      continue;
    }
    if (!functions) {
      functions = [];
      entries.push({ functionDeclarations: functions });
    }
    functions.push(declarationOf(tool));
  }
  return entries;
}

function declarationOf(tool: Exclude<Tool, { type: "hosted" }>): Fields {
  const { name, description } = tool;
  if (tool.type === "custom") {
    return { name, ...about(grammarNote(description, tool.format)), parametersJsonSchema: CUSTOM_TOOL_PARAMETERS };
  }
  return { name, ...about(description), ...(tool.parameters && { parametersJsonSchema: tool.parameters }) };
}

function about(description: string | undefined): Fields {
  return description === undefined ? {} : { description };
}

/** A grammar cannot be enforced here; the model is told of it. */
function grammarNote(description: string | undefined, format: unknown): string | undefined {
  const { definition, syntax } = (format ?? {}) as { definition?: unknown; syntax?: unknown };
  if (typeof definition !== "string") return description;
  return `${description ?? ""}\n\nThe input must follow this ${wordOf(syntax)} grammar:\n${definition}`.trim();
}

/** WIRE C3. Only ANY and VALIDATED take names; VALIDATED leaves the model free to answer in words. */
function toolConfig(choice: ToolChoice): Fields {
  const calling = (mode: string, names?: string[]): Fields => ({
    functionCallingConfig: { mode, ...(names && { allowedFunctionNames: names }) },
  });
  switch (choice.type) {
    case "auto":
      return calling("AUTO");
    case "none":
      return calling("NONE");
    case "required":
      return calling("ANY");
    case "named":
      return calling("ANY", [choice.name]);
    case "allowed":
      return calling(choice.mode === "required" ? "ANY" : "VALIDATED", choice.names);
  }
}

import type { JsonObject } from "../json.ts";
import type { Ask } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { type Config, readConfig } from "./config.ts";
import { type Content, readContents, readSystem } from "./contents.ts";
import { type Count, tokensOf } from "./parts.ts";
import { listAt, membersOf, stringAt, wrong } from "./refusals.ts";
import { readTools, type Toolbox } from "./tools.ts";

const FIELDS = `contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent serviceTier
  store model`.split(/\s+/);
const VERTEX_FIELDS = [...FIELDS, "labels", "modelArmorConfig"];

/** How a request is to be read. */
export interface Reading {
  readonly strict: boolean;
  readonly stream: boolean;
  readonly vertex: boolean;
  /** Of the third generation: calls keep their signatures, functions and JSON go together. */
  readonly third: boolean;
}

/** A generateContent request: what any behaviour may look at, and what only this format's writer needs. */
export interface GenerateRequest {
  readonly ask: Ask;
  readonly config: Config;
  /** Arguments are to be streamed in pieces. */
  readonly partialArgs: boolean;
}

/** Reads and validates the body of `:generateContent` and `:streamGenerateContent`. */
export function readRequest(body: JsonObject, reading: Reading): GenerateRequest {
  const fields = membersOf(body, reading.strict ? (reading.vertex ? VERTEX_FIELDS : FIELDS) : null, "");
  const count: Count = { bytes: 0, media: 0, images: [], calls: [] };
  const toolbox = readTools(fields);
  const systems = readSystem(fields.systemInstruction, count);
  const contents = readContents(fields.contents, count, reading.third);
  const config = readConfig(fields.generationConfig);
  if (!reading.third && toolbox.tools.length > 0 && config.format.kind !== "text") {
    wrong("Function calling with a response mime type: 'application/json' is unsupported");
  }
  checkRest(fields);
  const tools = fields.tools === undefined ? 0 : estimateTokens(JSON.stringify(fields.tools));
  const tokens = tokensOf(count) + tools;
  const { partialArgs } = toolbox;
  return { config, partialArgs, ask: askOf(reading, contents, config, toolbox, tokens, systems, count) };
}

function askOf(
  reading: Reading,
  contents: readonly Content[],
  config: Config,
  { tools, choice }: Toolbox,
  inputTokens: number,
  systems: readonly string[],
  count: Count,
): Ask {
  const texts = contents.filter(({ role }) => role === "user").map(textOf);
  const results = contents.at(-1)?.parts.filter((part) => part.kind === "tool_result") ?? [];
  return {
    stream: reading.stream,
    text: texts.findLast((text) => text !== "") ?? "",
    toolResult: results.at(-1)?.text ?? null,
    inputTokens,
    generates: true,
    tools,
    toolChoice: choice,
    parallelCalls: true,
    format: config.format,
    outputTokensMax: config.maxOutputTokens,
    stop: config.stop,
    choices: config.candidates,
    thinks: config.thinks,
    heard: () => ({
      dialect: "gemini-generate",
      system: systems.join("\n\n") || null,
      messages: contents.map(({ role, parts }) => ({ role, kinds: parts.map((part) => part.kind) })),
      tool_results: contents.flatMap(({ parts }) =>
        parts
          .filter((part) => part.kind === "tool_result")
          .map((part) => ({ id: part.id ?? part.name ?? "", text: part.text, error: part.failed })),
      ),
      images: count.images,
      temperature: config.temperature,
      top_p: config.topP,
      tool_calls: count.calls,
      reasoning: config.reasoning,
    }),
  };
}

function textOf({ parts }: Content): string {
  return parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("");
}

function checkRest(fields: JsonObject): void {
  for (const [i, item] of listAt(fields.safetySettings, "safety_settings").entries()) {
    membersOf(item, ["category", "threshold", "method"], `safety_settings[${i}]`);
  }
  const cached = stringAt(fields.cachedContent, "cached_content");
  if (cached !== null && !/cachedContents\/[\w-]+$/.test(cached)) {
    wrong("* GenerateContentRequest.cached_content: unexpected cached content name format");
  }
  if (cached !== null && (fields.systemInstruction !== undefined || fields.tools !== undefined)) {
    wrong(
      "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.",
    );
  }
}

import type {
  AudioBlock,
  Block,
  CanonicalRequest,
  DocumentBlock,
  ImageBlock,
  MeaningField,
  Message,
} from "../../core/message.ts";
import type { ChatExtra, Target } from "../protocol.ts";

/** Whose file ids this dialect's vendor knows: OpenAI's two chat APIs share their uploads. */
const OWN_FILES: ReadonlySet<string> = new Set(["openai-chat", "openai-responses"]);
const CHAT = "openai-chat";
const STOP_MAX = 4;
/** OpenAI's bounds. */
const TEMPERATURE_MAX = 2;

/** When a request asks for a field, for targets that refuse it. */
const ASKS: Readonly<Record<MeaningField, (request: CanonicalRequest) => boolean>> = {
  tools: ({ tools }) => tools.length > 0,
  custom_tools: ({ tools }) => tools.some((tool) => tool.type === "custom"),
  tool_choice: ({ toolChoice, tools }) => tools.length > 0 && toolChoice !== null && toolChoice.type !== "auto",
  response_format: ({ responseFormat }) => responseFormat !== null,
  stop: ({ stop }) => stop.length > 0,
  n: ({ n }) => n > 1,
  logprobs: ({ logprobs }) => logprobs !== null,
  images: (request) => holds(request, ["user"], (block) => block.type === "image"),
  documents: (request) =>
    holds(request, ["user"], (block) => block.type === "document" && block.source.kind !== "text"),
  audio: (request) => holds(request, ["user"], (block) => block.type === "audio"),
  tool_result_images: (request) => resultsHold(request, (block) => block.type === "image"),
  max_output_tokens: ({ maxOutputTokens }) => maxOutputTokens !== null,
  temperature: ({ temperature }) => temperature !== null,
  top_p: ({ topP }) => topP !== null,
  top_k: ({ topK }) => topK !== null,
  frequency_penalty: ({ frequencyPenalty }) => frequencyPenalty !== null && frequencyPenalty !== 0,
  presence_penalty: ({ presencePenalty }) => presencePenalty !== null && presencePenalty !== 0,
  seed: ({ seed }) => seed !== null,
};

/** What of a request's meaning a chat target cannot be told: canonical fields, and paths of what has no place here. */
export function inexpressible(request: CanonicalRequest, target: Target): string[] {
  const { quirks } = target;
  const fields = new Set<string>();
  for (const field of quirks.refuses ?? []) if (ASKS[field](request)) fields.add(field);
  for (const [field, models] of Object.entries(quirks.refusesFor ?? {}) as [MeaningField, RegExp][]) {
    if (models.test(target.traitsOf ?? target.model) && ASKS[field](request)) fields.add(field);
  }
  if (quirks.jsonSchema === false && request.responseFormat?.type === "json_schema") fields.add("response_format");
  if (request.stop.length > (quirks.stopMax ?? STOP_MAX)) fields.add("stop");
  if ((request.temperature ?? 0) > (quirks.temperatureMax ?? TEMPERATURE_MAX)) fields.add("temperature");
  if (request.topK !== null && !takes(target, "top_k")) fields.add("top_k");
  if (holds(request, ["user"], (block) => block.type === "image" && !canShow(block))) fields.add("images");
  if (resultsHold(request, (block) => block.type === "image" && !canShow(block))) fields.add("tool_result_images");
  if (anyHolds(request, (block) => block.type === "document" && !canAttach(block, target))) fields.add("documents");
  if (anyHolds(request, (block) => block.type === "audio" && audioFormat(block) === null)) fields.add("audio");
  // Only a user's message holds more than text.
  const others = ["system", "assistant"];
  if (holds(request, others, (block) => block.type === "image")) fields.add("images");
  if (holds(request, others, (block) => block.type === "document")) fields.add("documents");
  if (holds(request, others, (block) => block.type === "audio")) fields.add("audio");
  for (const { blocks } of request.messages) {
    for (const block of blocks) if (block.type === "opaque" && block.dialect !== CHAT) fields.add(block.path);
  }
  // A server that refuses what it does not know runs no tools that others of the family do.
  const runs = (dialect: string): boolean => dialect === CHAT && quirks.strict === undefined;
  for (const tool of request.tools) if (tool.type === "hosted" && !runs(tool.dialect)) fields.add(tool.path);
  for (const field of request.foreign) if (field.meaning) fields.add(field.path);
  return [...fields];
}

/** Does the target take this, for its model? */
export function takes({ quirks, model, traitsOf = model }: Target, extra: ChatExtra): boolean {
  const given = quirks.takes?.[extra];
  return given === true || (given?.test(traitsOf) ?? false);
}

/** A picture can be sent inline or by address. */
export function canShow({ source }: ImageBlock): boolean {
  return source.kind !== "file";
}

/** A document can be sent as text, inline, as an upload at the same vendor, and to some by address. */
export function canAttach({ source }: DocumentBlock, target: Target): boolean {
  if (source.kind === "url") return takes(target, "document_urls");
  return (
    source.kind === "text" || source.kind === "base64" || (source.kind === "file" && OWN_FILES.has(source.dialect))
  );
}

/** The word for a sound's format; null for one that cannot be sent. */
export function audioFormat({ source }: AudioBlock): "wav" | "mp3" | null {
  if (source.kind !== "base64") return null;
  const subtype = source.mediaType.toLowerCase().replace(/^audio\//, "");
  if (["wav", "x-wav", "wave", "vnd.wave"].includes(subtype)) return "wav";
  return ["mpeg", "mp3"].includes(subtype) ? "mp3" : null;
}

function holds(request: CanonicalRequest, roles: readonly string[], test: (block: Block) => boolean): boolean {
  return request.messages.some(({ role, blocks }: Message) => roles.includes(role) && blocks.some(test));
}

function resultsHold(request: CanonicalRequest, test: (block: Block) => boolean): boolean {
  return holds(request, ["tool"], (block) => block.type === "tool_result" && block.content.some(test));
}

function anyHolds(request: CanonicalRequest, test: (block: Block) => boolean): boolean {
  return holds(request, ["user"], test) || resultsHold(request, test);
}

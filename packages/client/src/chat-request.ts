import type { JsonObject } from "./json-value.ts";

/** One part of a user message. */
export type ContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: "auto" | "low" | "high" } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { file_data?: string; file_id?: string; filename?: string } };

type TextContent = string | { type: "text"; text: string }[];

/** A tool call as the wire has it; `arguments` is JSON text. */
export interface WireToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** What the model said earlier: `reply.message.wire`, or written by hand. Members not named here pass through. */
export interface AssistantMessage {
  role: "assistant";
  content?: string | null;
  refusal?: string | null;
  reasoning_content?: string | null;
  tool_calls?: WireToolCall[];
  name?: string;
  [member: string]: unknown;
}

/** One message of the conversation, as the OpenAI Chat Completions API spells it. */
export type ChatMessage =
  | { role: "system" | "developer"; content: TextContent; name?: string }
  | { role: "user"; content: string | ContentPart[]; name?: string }
  | AssistantMessage
  | { role: "tool"; tool_call_id: string; content: TextContent };

/** A function the model may call; `parameters` is a JSON schema. */
export interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters?: JsonObject; strict?: boolean };
}

/** What no provider's API has: what the caller says about the request to the gateway. */
export interface PlatformFields {
  task_class?: string;
  classification?: string;
  residency?: string;
  latency_budget_ms?: number;
  side_effecting?: boolean;
  cacheable?: boolean;
  cache_policy?: "auto" | "force" | "bypass";
  cache_class?: string;
  /** May only tighten the route's own. */
  cache_floor?: number;
  hedge?: boolean;
  fallback?: boolean;
  priority?: "high" | "normal" | "low";
  session_id?: string;
  user?: string;
  agent?: string;
  application?: string;
  template_version?: string;
  tags?: Record<string, string>;
  retry_after_tool_results?: boolean;
}

/** A chat request: the body of the OpenAI Chat Completions API, less what `chat` and `stream` set themselves. */
export interface ChatRequest {
  /** The alias. */
  model: string;
  messages: ChatMessage[];
  max_completion_tokens?: number;
  temperature?: number;
  top_p?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  seed?: number;
  stop?: string | string[];
  tools?: ChatTool[];
  tool_choice?: "auto" | "required" | "none" | { type: "function"; function: { name: string } };
  parallel_tool_calls?: boolean;
  response_format?:
    | { type: "text" | "json_object" }
    | { type: "json_schema"; json_schema: { name: string; schema: JsonObject; strict?: boolean } };
  reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
  logprobs?: boolean;
  top_logprobs?: number;
  gateway?: PlatformFields;
  /** Members of the body that are not named here, for example a provider's newest ones. */
  extra?: JsonObject;
}

/** The body that goes out for a request. */
export function requestBody(request: ChatRequest, stream: boolean): JsonObject {
  const { extra, ...fields } = request;
  const body: JsonObject = { ...extra, ...fields, stream };
  if (stream)
    body["stream_options"] = { ...(extra?.["stream_options"] as JsonObject | undefined), include_usage: true };
  return body;
}

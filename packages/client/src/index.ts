export type { AttemptSummary, ErrorBody, ErrorCode, GatewayMetadata, Usage } from "@sluicegate/contract";
export type {
  AssistantMessage,
  ChatMessage,
  ChatRequest,
  ChatTool,
  ContentPart,
  PlatformFields,
  WireToolCall,
} from "./chat-request.ts";
export type { ChatStream } from "./chat-stream.ts";
export {
  AuthenticationError,
  BudgetError,
  type ClientErrorCode,
  ConnectionError,
  ContentBlockedError,
  type ErrorDetails,
  InternalServerError,
  InvalidRequestError,
  NotFoundError,
  OverloadedError,
  PermissionError,
  ProviderError,
  RateLimitError,
  SluicegateError,
  TimeoutError,
} from "./errors.ts";
export type { JsonObject } from "./json-value.ts";
export type { FinishReason, Reply, ReplyMessage, ReplyOrigin, ToolCall } from "./reply.ts";
export { type CallOptions, Sluicegate, type SluicegateOptions } from "./sluicegate.ts";
export type { StreamPart } from "./stream-part.ts";

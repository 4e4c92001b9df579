import type { Protocol } from "../protocol.ts";
import { openaiResponsesCompact } from "./compact.ts";
import { openaiResponsesInputTokens } from "./input-tokens.ts";
import { openaiResponses } from "./protocol.ts";

export { openaiResponses } from "./protocol.ts";

/** Responses with what belongs to it: compaction, and counting tokens. */
export const RESPONSES_API: readonly Protocol[] = [openaiResponses, openaiResponsesCompact, openaiResponsesInputTokens];

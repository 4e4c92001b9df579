import { openaiImages } from "./openai-images/index.ts";
import { openaiModerations } from "./openai-moderations/index.ts";
import { openaiSpeech } from "./openai-speech/index.ts";
import { openaiTranscription } from "./openai-transcription/index.ts";
import type { Protocol } from "./protocol.ts";

/** OpenAI's endpoints that are passed through and never translated: whoever speaks the family may have them. */
export const OPENAI_ENDPOINTS: readonly Protocol[] = [
  openaiModerations,
  openaiImages,
  openaiSpeech,
  openaiTranscription,
];

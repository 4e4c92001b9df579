import { openaiChat } from "./openai-chat/index.ts";
import { openaiEmbeddings } from "./openai-embeddings/index.ts";
import type { Protocol } from "./protocol.ts";

/** Every protocol this build speaks. Adding one is a folder and a line here. */
export const PROTOCOLS: readonly Protocol[] = [openaiChat, openaiEmbeddings];

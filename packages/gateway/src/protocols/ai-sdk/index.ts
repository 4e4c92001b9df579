import { classifyFailure } from "../openai-error.ts";
import type { Protocol } from "../protocol.ts";
import { NO_CLIENTS, refuse } from "../provider-only.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./inexpressible.ts";
import { decodeReply, readReply } from "./reply.ts";
import { streamReader } from "./stream.ts";
import { NAME } from "./wire.ts";

/** What is spoken with the adapter of the Vercel AI SDK, inside the process: its call options in JSON, its stream parts as events. */
export const aiSdkChat: Protocol = {
  ...NO_CLIENTS,
  name: NAME,
  operation: "chat",
  api: "chat",
  upstreamPath: () => "/chat",
  readReply,
  streamReader,
  classifyFailure,
  translation: {
    family: "chat",
    fieldNames: {},
    toCanonical: refuse,
    inexpressible,
    fromCanonical,
    decodeReply,
    encodeReply: refuse,
    streamWriter: refuse,
  },
};

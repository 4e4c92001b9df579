import { classifyFailure } from "../openai-error.ts";
import type { Protocol } from "../protocol.ts";
import { NO_CLIENT_TRANSLATION, NO_CLIENTS } from "../provider-only.ts";
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
    ...NO_CLIENT_TRANSLATION,
    inexpressible,
    fromCanonical,
    decodeReply,
  },
};

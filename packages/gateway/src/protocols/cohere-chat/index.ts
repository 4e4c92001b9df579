import { classifyCohereFailure } from "../cohere-error.ts";
import type { Protocol } from "../protocol.ts";
import { NO_CLIENT_TRANSLATION, NO_CLIENTS } from "../provider-only.ts";
import { fromCanonical } from "./encode.ts";
import { inexpressible } from "./inexpressible.ts";
import { decodeReply, readReply } from "./reply.ts";
import { streamReader } from "./stream.ts";
import { NAME } from "./wire.ts";

/** Cohere's v2 chat (WIRE B6): POST /v2/chat, JSON and server-sent events, spoken to providers alone. */
export const cohereChat: Protocol = {
  ...NO_CLIENTS,
  name: NAME,
  operation: "chat",
  api: "chat",
  upstreamPath: () => "/v2/chat",
  readReply,
  streamReader,
  classifyFailure: classifyCohereFailure,
  translation: {
    family: "chat",
    ...NO_CLIENT_TRANSLATION,
    inexpressible,
    fromCanonical,
    decodeReply,
  },
};

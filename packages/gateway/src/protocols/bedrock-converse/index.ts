import { LIMITS } from "../../core/limits.ts";
import { classifyAwsFailure } from "../aws-error.ts";
import type { Protocol } from "../protocol.ts";
import { NO_CLIENT_TRANSLATION, NO_CLIENTS } from "../provider-only.ts";
import type { ChatTranslation } from "../translation.ts";
import { fromCanonical } from "./encode.ts";
import { FrameSplitter } from "./frames.ts";
import { inexpressible } from "./inexpressible.ts";
import { decodeReply, readReply } from "./reply.ts";
import { streamReader } from "./stream.ts";
import { NAME } from "./wire.ts";

const translation: ChatTranslation = {
  family: "chat",
  ...NO_CLIENT_TRANSLATION,
  inexpressible,
  fromCanonical,
  decodeReply,
};

/**
 * Converse and ConverseStream of Amazon Bedrock (WIRE B5): POST /model/{id}/converse and /converse-stream, spoken to providers
 * alone. Its streams are frames of bytes.
 */
export const bedrockConverse: Protocol = {
  ...NO_CLIENTS,
  name: NAME,
  operation: "chat",
  api: "converse",
  upstreamPath: (call, model) => `/model/${encodeURIComponent(model)}/converse${call.stream ? "-stream" : ""}`,
  readReply,
  streamReader,
  framing: {
    contentType: /^application\/vnd\.amazon\.eventstream\b/i,
    splitter: () => new FrameSplitter(LIMITS.sseEventBytesMax),
  },
  classifyFailure: classifyAwsFailure,
  translation,
};

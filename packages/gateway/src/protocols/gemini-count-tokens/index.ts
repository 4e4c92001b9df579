import { noUsage } from "@sluicegate/contract";
import type { Call, ReplyFacts } from "../../core/call.ts";
import type { CanonicalRequest } from "../../core/message.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, foundMembers, membersIn } from "../call-members.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { type Fields, missingField } from "../field-checks.ts";
import { canonicalBody } from "../gemini-generate/canonical.ts";
import { classifyFailure, encodeError, encodeStreamError } from "../gemini-generate/error.ts";
import { pick, pickObject } from "../gemini-generate/fields.ts";
import { matchModelPath, modelResource, upstreamModelPath } from "../gemini-generate/path.ts";
import { parseJsonBody } from "../json-body.ts";
import { type Edit, editMembers, membersOf } from "../json-members.ts";
import { decorateOpenAiReply } from "../openai-answer.ts";
import { plainCall, roughTokens } from "../plain-call.ts";
import { PLATFORM_MEMBERS, platformFields } from "../platform-fields.ts";
import {
  type ClientRequest,
  EVENT_STREAM,
  type FailedReply,
  invalidReply,
  type Protocol,
  type Quirks,
  replyObject,
  type Target,
  tokenCount,
} from "../protocol.ts";

const NAME = "gemini-count-tokens";
const NOTHING = Buffer.alloc(0);

/** Gemini's countTokens: POST /v1beta/models/{alias}:countTokens with `contents` or a whole `generateContentRequest`. */
export const geminiCountTokens: Protocol = {
  name: NAME,
  operation: "count_tokens",
  api: "countTokens",
  clientPaths: [],
  matchPath: (path, query) => matchModelPath(path, query, ["countTokens"]),
  upstreamPath: (_call, model) => upstreamModelPath(model, "countTokens"),
  decodeRequest,
  encodeError,
  encodeStreamError,
  streamShape: () => ({ contentType: EVENT_STREAM, keepalive: NOTHING }),
  terminator: NOTHING,
  endWithMetadata: () => NOTHING,
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader: () => {
    throw new Error("a count of tokens does not stream");
  },
  classifyFailure,
  translation: {
    family: "count",
    toCanonical,
    encodeCount: (tokens) => Buffer.from(JSON.stringify({ totalTokens: tokens })),
  },
};

/** What is to be counted, as the request it would be. */
function toCanonical(call: Call): CanonicalRequest {
  return canonicalBody(countedBody(call.body), false);
}

/** The generateContent body that is counted: given whole, or as contents alone. */
function countedBody(body: Fields): Fields {
  return pickObject(body, "generateContentRequest") ?? body;
}

function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  const { members, modelAt } = foundMembers(raw, parsed);
  if (pick(countedBody(body), "contents") === undefined) {
    throw missingField("contents", "what to count, as contents or as a whole generateContentRequest");
  }
  return plainCall(request, {
    ...{ dialect: NAME, operation: "count_tokens", alias: path.alias ?? "" },
    inputTokensEstimate: roughTokens(raw.length),
    platform: platformFields(body, request),
    path: { query: path.query },
    ...{ body, members, modelAt },
  });
}

/** The model stands in the path, and once more in a whole request. */
function passRequest(call: Call, { model }: Target): Bytes {
  const edits = new Map<string, Edit>();
  const resource = { value: JSON.stringify(modelResource(model)) };
  if (Object.hasOwn(call.body, "model")) edits.set("model", resource);
  for (const key of ["generateContentRequest", "generate_content_request"]) {
    const member = membersIn(call).findLast((candidate) => candidate.key === key);
    if (!member || !pickObject(call.body, "generateContentRequest")) continue;
    const inner = call.raw.subarray(member.valueStart, member.valueEnd);
    edits.set(key, {
      value: editMembers(inner, membersOf(inner), new Map([["model", resource]]), []).toString("utf8"),
    });
  }
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  return edits.size === 0 ? call.raw : editBody(call, edits, []);
}

/** Counting is free: the count is an answer, and no usage. */
function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  if (holdsError(reply["error"])) {
    return { failure: classifyFailure(statusNamed(reply) ?? 502, {}, body, nowMs), usage: null };
  }
  // A count of zero is left out on the wire.
  if (pick(reply, "totalTokens") !== undefined && tokenCount(pick(reply, "totalTokens")) === undefined) {
    return invalidReply("the answer holds no count");
  }
  return { model: null, usage: noUsage(), finishReason: "stop", outputChars: 0 };
}

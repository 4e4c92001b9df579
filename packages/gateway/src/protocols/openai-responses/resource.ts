import type { Call, ReplyFacts } from "../../core/call.ts";
import { isObject, wordOf } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Protocol, replyObject, type StreamReader } from "../protocol.ts";
import { providerId } from "./ids.ts";
import { openaiResponses } from "./protocol.ts";

/** A call about a response that its provider keeps. */
export interface ResourceCall {
  method: "GET" | "POST" | "DELETE";
  /** As the client has it. */
  id: string;
  under: "" | "cancel" | "input_items";
  /** Without the `?`. */
  query: string;
}

const PATH = /^(?:\/v1|\/openai\/v1|\/openai)\/responses\/([^/]+)(?:\/(cancel|input_items))?$/;
const METHODS = { "": ["GET", "DELETE"], cancel: ["POST"], input_items: ["GET"] } as const;
/** Events after which nothing comes. */
const LAST = new Set(["response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"]);
const NOTHING = Buffer.alloc(0);

/** What a path says that names a kept response; null for another path. `methods` are those it takes. */
export function resourcePath(
  path: string,
): (Pick<ResourceCall, "id" | "under"> & { methods: readonly string[] }) | null {
  const [, id, under = ""] = PATH.exec(path) ?? [];
  if (id === undefined) return null;
  const part = under as ResourceCall["under"];
  return { id, under: part, methods: METHODS[part] };
}

/** Does the query ask for the events of the response? */
export function asksForEvents({ method, under, query }: ResourceCall): boolean {
  return method === "GET" && under === "" && new URLSearchParams(query).get("stream") === "true";
}

/**
 * The protocol of one such call: what is kept is passed on as it is, a response that failed too, and nothing of it is
 * metered, since it was when it was made. Ids lose their tokens on the way out.
 */
export function resourceProtocol(resource: ResourceCall): Protocol {
  return {
    ...openaiResponses,
    upstreamPath: () => upstreamPath(resource),
    passRequest: () => NOTHING,
    readReply,
    streamReader,
    translation: null,
  };
}

/** A stand-in for the request body that such a call does not have. */
export function resourceCall(resource: ResourceCall): Call {
  const raw = Buffer.from("{}");
  return {
    dialect: openaiResponses.name,
    operation: "chat",
    alias: "",
    stream: asksForEvents(resource),
    needs: new Set(),
    maxOutputTokens: null,
    choices: 1,
    inputTokensEstimate: 1,
    holdsToolResults: false,
    reasons: true,
    showsUsage: true,
    platform: {},
    path: { query: resource.query },
    dialectHeaders: {},
    pinnedTo: null,
    raw,
    body: {},
    members: [],
    modelAt: null,
  };
}

function upstreamPath({ id, under, query }: ResourceCall): string {
  const asked = new URLSearchParams(query);
  // Azure's own version belongs to the provider's URL, not to the client's.
  asked.delete("api-version");
  for (const key of ["after", "before"]) {
    const value = asked.get(key);
    if (value !== null) asked.set(key, providerId(value));
  }
  const path = `/responses/${encodeURIComponent(providerId(id))}${under === "" ? "" : `/${under}`}`;
  const text = asked.toString();
  return text === "" ? path : `${path}?${text}`;
}

function readReply(body: Buffer): ReplyFacts | FailedReply {
  if (!replyObject(body)) return invalidReply("the answer is no JSON object");
  return { model: null, usage: null, finishReason: "stop", outputChars: 0 };
}

/** Every event goes on at once: what is kept has no preamble. */
function streamReader(): StreamReader {
  return {
    read(data) {
      if (data.trim() === "[DONE]") return { parts: [], usageOnly: false, terminator: true };
      const event: unknown = JSON.parse(data);
      const last = isObject(event) && LAST.has(wordOf(event["type"]));
      return {
        parts: [last ? { type: "finish", choice: 0, reason: "stop" } : { type: "text", choice: 0, text: "" }],
        usageOnly: false,
        terminator: last,
      };
    },
  };
}

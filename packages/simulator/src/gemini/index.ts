import type { Headers } from "../delivery/failure.ts";
import type { Exchange } from "../exchange.ts";
import { type Problem, ProblemError, problem } from "../models/problem.ts";
import type { State } from "../state.ts";
import type { WireFormat, WireRequest } from "../wire.ts";
import { readCount } from "./count.ts";
import { readBatchEmbed, readEmbed } from "./embed.ts";
import { errorBody } from "./error.ts";
import { geminiManners } from "./manners.ts";
import { readPredict } from "./predict.ts";
import { type Reading, readRequest } from "./request.ts";
import { generateJson } from "./response.ts";
import { generateSteps } from "./stream.ts";
import { type Target, targetOf } from "./target.ts";

type Read = WireFormat["read"];

/** The wire format of a Gemini call; null when the path is none. */
export function geminiCall(exchange: Exchange): WireFormat | null {
  const target = targetOf(exchange);
  if (target === null) return null;
  const { model, method } = target;
  const stream = method === "streamGenerateContent";
  const call = { ...voice(target), target: { model, stream }, strict: true };
  const reads: Readonly<Record<string, Omit<WireFormat, keyof typeof call>>> = {
    generateContent: { dialect: "gemini-generate", read: readGenerate(target) },
    streamGenerateContent: { dialect: "gemini-generate", read: readGenerate(target) },
    countTokens: {
      dialect: "gemini-count-tokens",
      billed: false,
      read: (body, strict, state) => readCount(body, readingOf(target, strict, state)),
    },
    embedContent: { dialect: "gemini-embed", read: (body) => readEmbed(body) },
    // Each of the two services has a way of its own to embed several texts.
    ...(target.vertex
      ? { predict: { dialect: "vertex-predict", read: (body) => readPredict(body) } }
      : { batchEmbedContents: { dialect: "gemini-embed", read: (body) => readBatchEmbed(body, model) } }),
  };
  const found = Object.hasOwn(reads, method) ? reads[method] : undefined;
  return { ...call, ...(found ?? { dialect: "gemini", read: unsupported }) };
}

function unsupported(): never {
  throw new ProblemError(problem("model_not_found", 404, "not found", { stock: true }));
}

function readGenerate(target: Target): Read {
  return (body, strict, state): WireRequest => {
    const { ask, config, partialArgs } = readRequest(body, readingOf(target, strict, state));
    const manner = { shown: config.includeThoughts ?? !config.thinks, partialArgs };
    return {
      ask,
      json: (plan, stamp) => generateJson(plan, stamp, manner),
      steps: (plan, stamp) => generateSteps(plan, stamp, manner),
    };
  };
}

function readingOf({ model, method, vertex }: Target, strict: boolean, state: State): Reading {
  const name = model.slice(model.lastIndexOf("/") + 1);
  const third = /^gemini-[3-9]/.test(name) || state.model(model).settings.quirk?.has("gemini_3") === true;
  return { strict, vertex, third, stream: method === "streamGenerateContent" };
}

/** How Google says what went wrong in one call; a refused array stream is an array too. */
export function voice(target: Target | null): Pick<WireFormat, "manners" | "errorBody" | "errorStep" | "endStep"> {
  const manners = geminiManners(target);
  const say = (problem: Problem, headers: Headers): string => errorBody(problem, headers, target);
  return {
    manners,
    errorBody: (problem, headers) =>
      manners.framing === "array" ? `[${say(problem, headers)}\n]\n` : say(problem, headers),
    errorStep: (problem) => ({ kind: "finish", data: say(problem, {}) }),
    endStep: null,
  };
}

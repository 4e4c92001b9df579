import type { JsonObject } from "../json.ts";
import type { Plan, Usage } from "../models/plan.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { Stamp, Step, WireFormat } from "../wire.ts";
import { tinyPng } from "./png.ts";
import { type ImagesRequest, readEditsRequest, readImagesRequest } from "./request.ts";

/** OpenAI's pictures: POST /v1/images/generations. Every picture is a small PNG whatever was asked. */
export const openAiImages: WireFormat = pictures("generation", readImagesRequest);

/** Pictures made of others: POST /v1/images/edits, a form. What is in the others makes no difference. */
export const openAiImageEdits: WireFormat = {
  ...pictures("edit", readEditsRequest),
  streams: (body) => body.stream === "true",
};

function pictures(deed: "generation" | "edit", readRequest: typeof readImagesRequest): WireFormat {
  return {
    dialect: deed === "edit" ? "openai-image-edits" : "openai-images",
    manners: { ...OPENAI_MANNERS, namedEvents: true },
    read(body, strict) {
      const request = readRequest(body, strict);
      return {
        ask: request.ask,
        json: (plan, stamp) => JSON.stringify(imagesJson(request, plan, stamp)),
        steps: (plan, stamp) => imageSteps(`image_${deed}`, request, plan, stamp),
      };
    },
    errorBody: openAiErrorBody,
    errorStep: openAiErrorStep,
    endStep: null,
  };
}

function imagesJson(request: ImagesRequest, plan: Plan, stamp: Stamp): JsonObject {
  const pictures = Array.from({ length: plan.choices }, (_, i) => i);
  if (request.older) return { created: stamp.created, data: pictures.map((i) => olderPicture(request, stamp, i)) };
  return {
    created: stamp.created,
    ...lookOf(request),
    data: pictures.map((i) => ({ b64_json: picture(request, i) })),
    ...(plan.reportsUsage && { usage: usageOf(request, plan.usage) }),
  };
}

/** Partial pictures, then the whole one. */
function imageSteps(prefix: string, request: ImagesRequest, plan: Plan, stamp: Stamp): Step[] {
  const common = { created_at: stamp.created, ...lookOf(request) };
  const steps = Array.from({ length: request.partial }, (_, i): Step => {
    const type = `${prefix}.partial_image`;
    const data = JSON.stringify({ type, b64_json: picture(request, -1 - i), partial_image_index: i, ...common });
    return { kind: "delta", data, event: type };
  });
  const type = `${prefix}.completed`;
  const usage = plan.reportsUsage ? { usage: usageOf(request, plan.usage) } : {};
  const data = JSON.stringify({ type, b64_json: picture(request, 0), ...common, ...usage });
  return [...steps, { kind: "finish", data, event: type, reportsUsage: plan.reportsUsage }];
}

function lookOf({ background, format, quality, size }: ImagesRequest): JsonObject {
  return { background, output_format: format, quality, size };
}

function picture({ prompt }: ImagesRequest, index: number): string {
  return tinyPng(`${prompt} ${index}`).toString("base64");
}

function olderPicture(request: ImagesRequest, { n }: Stamp, index: number): JsonObject {
  const at = request.byUrl
    ? { url: `https://images.example.com/sim${n}_${index}.png` }
    : { b64_json: picture(request, index) };
  return { ...at, revised_prompt: request.prompt };
}

function usageOf({ pictureTokens }: ImagesRequest, { input, output }: Usage): JsonObject {
  const pictured = Math.min(pictureTokens, input);
  return {
    input_tokens: input,
    input_tokens_details: { image_tokens: pictured, text_tokens: input - pictured },
    output_tokens: output,
    total_tokens: input + output,
  };
}

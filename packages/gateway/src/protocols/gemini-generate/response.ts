import type { Usage } from "@sluicegate/contract";
import type { Annotation, Block, Choice, ToolCallBlock } from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { argumentsObject } from "../tool-arguments.ts";
import type { Shown } from "../translation.ts";
import { standsBeside, writeGrounding } from "./annotations.ts";
import { DIALECT } from "./fields.ts";
import { wordOfReason } from "./finish.ts";
import { writeLogprobs } from "./logprobs.ts";
import { writeMedia } from "./media.ts";
import { proofOf } from "./proof.ts";
import { writeUsage } from "./usage.ts";

/** A response object: what a whole answer is, and every event of a stream. */
export function responseOf(candidates: Fields[], model: string | null, usage: Usage | null, shown: Shown): Fields {
  return {
    candidates,
    ...(usage && { usageMetadata: writeUsage(usage) }),
    modelVersion: model ?? shown.model,
    responseId: shown.requestId,
  };
}

/** One answer as a candidate. */
export function candidateOf(choice: Choice, index: number): Fields {
  const parts = [...choice.blocks.flatMap(partsOf), ...choice.annotations.flatMap(annotationParts)];
  const text = choice.blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  return {
    content: { parts, role: "model" },
    finishReason: wordOfReason(choice.finish ?? "stop"),
    index,
    ...besideOf(choice.annotations, (chars) => Buffer.byteLength(text.slice(0, chars))),
    ...(choice.logprobs && { logprobsResult: writeLogprobs(choice.logprobs) }),
  };
}

/** The parts that say a block of an answer. Gemini has no word for a refusal: it is text. */
function partsOf(block: Block): Fields[] {
  switch (block.type) {
    case "text":
    case "refusal":
      return block.text === "" ? [] : [{ text: block.text }];
    case "reasoning":
      return thoughtParts(block.text, block.signature, block.encrypted);
    case "tool_call":
      return [callPart(block)];
    case "image":
    case "document":
    case "audio":
      return [writeMedia(block) ?? []].flat();
    case "opaque":
      return block.dialect === DIALECT && isObject(block.value) ? [block.value] : [];
    case "tool_result":
      return [];
  }
}

/** A thought, with the proof of it, whoever's that is. A proof of Gemini's without text hung on no thought but on the text. */
export function thoughtParts(text: string, signature?: Signature, encrypted?: Signature): Fields[] {
  if (encrypted && !signature) return [{ text, thought: true, thoughtSignature: proofOf(encrypted, "encrypted") }];
  const parts: Fields[] = [];
  if (text !== "" || signature) {
    const own = text === "" && signature?.dialect === DIALECT;
    parts.push({
      text,
      ...(!own && { thought: true }),
      ...(signature && { thoughtSignature: proofOf(signature, "text") }),
    });
  }
  if (encrypted) {
    parts.push({ text: "", thought: true, thoughtSignature: proofOf(encrypted, "encrypted") });
  }
  return parts;
}

/** A call. Arguments that are no object, and the input of a free-text tool, are wrapped: Gemini knows only objects. */
export function callPart(call: ToolCallBlock): Fields {
  const { id, name, text, custom, signature } = call;
  const args = custom ? { input: text } : argumentsObject(call);
  return {
    functionCall: { id, name, args },
    ...(signature && { thoughtSignature: proofOf(signature, "call") }),
  };
}

/** An annotation that is a part of the content: a picture, code that Google ran. */
export function annotationParts(annotation: Annotation): Fields[] {
  if (annotation.type === "media") {
    return [{ inlineData: { mimeType: annotation.mediaType, data: annotation.data } }];
  }
  if (annotation.type !== "opaque" || annotation.dialect !== DIALECT) return [];
  return isObject(annotation.value) && !standsBeside(annotation.value) ? [annotation.value] : [];
}

/** What stands beside the content: Google's own words where they are there, else what others cited. */
export function besideOf(annotations: readonly Annotation[], bytes: ((chars: number) => number) | null): Fields {
  const own = annotations.flatMap((annotation) =>
    annotation.type === "opaque" && annotation.dialect === DIALECT && standsBeside(annotation.value)
      ? [annotation.value]
      : [],
  );
  if (own.length > 0) return Object.assign({}, ...own) as Fields;
  const grounding = writeGrounding(annotations, bytes);
  return grounding ? { groundingMetadata: grounding } : {};
}

import { isObject, type JsonObject } from "../json.ts";
import { askFor } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import { checkKnown } from "../openai-ranges.ts";
import { missing, wrongType } from "../openai-refusals.ts";
import type { WireFormat } from "../wire.ts";

const FIELDS: ReadonlySet<string> = new Set(["model", "input"]);
const MODEL = "omni-moderation-latest";
const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;
/** A category is flagged where its name's first word stands in the text, in these words. */
const WORDS: Readonly<Record<string, RegExp>> = {
  harassment: /\bharass/i,
  hate: /\bhate\b/i,
  illicit: /\billicit\b/i,
  "self-harm": /\bself-harm\b/i,
  sexual: /\bsexual\b/i,
  violence: /\b(kill|violence)\b/i,
};

interface Input {
  readonly text: string;
  readonly types: readonly string[];
}

/** OpenAI's moderation: POST /v1/moderations. It is on the invoice with no tokens, as it costs nothing. */
export const openAiModerations: WireFormat = {
  dialect: "openai-moderations",
  modelDefault: MODEL,
  read(body, strict) {
    if (strict) checkKnown(body, FIELDS);
    const inputs = readInputs(body.input);
    return {
      ask: askFor({ text: inputs.map((input) => input.text).join(" "), inputTokens: 0, generates: false }),
      json: (_plan, stamp) =>
        JSON.stringify({ id: `modr-sim${stamp.n}`, model: stamp.model, results: inputs.map(resultOf) }),
      steps: () => [],
    };
  },
  errorBody: openAiErrorBody,
  errorStep: openAiErrorStep,
  endStep: null,
};

/** A text, several of them, or the parts of one message. */
function readInputs(value: unknown): Input[] {
  if (value == null) return missing("input");
  if (typeof value === "string") return [{ text: value, types: ["text"] }];
  if (!Array.isArray(value)) return wrongType("input", "a string or an array", value);
  if (value.length === 0) return refuse("Invalid 'input': empty array.", "input", "empty_array");
  if (value.every((item) => typeof item === "string")) return value.map((text) => ({ text, types: ["text"] }));
  const parts = value.map((part: unknown, i) => readPart(part, `input[${i}]`));
  const texts = parts.map((part) => part.text).join(" ");
  return [{ text: texts, types: [...new Set(parts.flatMap((part) => part.types))] }];
}

function readPart(part: unknown, at: string): Input {
  if (!isObject(part)) return wrongType(at, "an object", part);
  if (part.type === "text" && typeof part.text === "string") return { text: part.text, types: ["text"] };
  if (part.type === "image_url" && isObject(part.image_url)) return { text: "", types: ["image"] };
  return refuse(`Invalid value: '${part.type}'. Supported values are: 'text' and 'image_url'.`, at, "invalid_value");
}

function resultOf({ text, types }: Input): JsonObject {
  const hit = (name: string): boolean => !name.includes("/") && WORDS[name]?.test(text) === true;
  const each = <T>(value: (name: string) => T): Record<string, T> =>
    Object.fromEntries(CATEGORIES.map((name) => [name, value(name)]));
  return {
    flagged: CATEGORIES.some(hit),
    categories: each(hit),
    category_scores: each((name) => (hit(name) ? 0.95 : 0.0001)),
    category_applied_input_types: each((name) => (hit(name) ? ["text"] : types)),
  };
}

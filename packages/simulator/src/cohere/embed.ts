import { askFor } from "../models/ask.ts";
import { estimateTokens } from "../models/text.ts";
import { embed } from "../vector.ts";
import type { WireFormat } from "../wire.ts";
import { checkMembers, listAt, textAt, wrong } from "./checks.ts";

const FIELDS =
  "model texts images inputs input_type embedding_types output_dimension truncate max_tokens priority".split(" ");
const INPUT_TYPES = ["search_document", "search_query", "classification", "clustering", "image"];
const TEXTS_MAX = 96;
const DIMENSIONS = 1_536;
const SIZES: readonly unknown[] = [256, 512, 1_024, DIMENSIONS];

/** Reads the body of POST /v2/embed, and answers it by the types that were asked for. */
export const readEmbed: WireFormat["read"] = (body) => {
  checkMembers(body, FIELDS, "");
  const texts = listAt(body.texts, "texts").map((text, i) => textAt(text, `texts[${i}]`));
  if (texts.length === 0) wrong("at least one of texts, images or inputs must be given");
  if (texts.length > TEXTS_MAX) wrong(`too many texts: at most ${TEXTS_MAX}`);
  if (!INPUT_TYPES.includes(String(body.input_type))) wrong(`input_type must be one of ${INPUT_TYPES.join(", ")}`);
  const { output_dimension: size = DIMENSIONS } = body;
  if (!SIZES.includes(size)) wrong("output_dimension is invalid");
  const types = body.embedding_types === undefined ? ["float"] : listAt(body.embedding_types, "embedding_types");
  const vectors = texts.map((text) => embed(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text], Number(size)));
  const coded: Record<string, unknown> = {};
  for (const type of types) {
    if (type === "float") coded.float = vectors.map((vector) => Array.from(vector));
    else if (type === "base64") coded.base64 = vectors.map(base64);
    else wrong(`embedding_types: ${String(type)} is not simulated`);
  }
  return {
    ask: askFor({
      text: "",
      inputTokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
      generates: false,
    }),
    json: (plan, { n }) =>
      JSON.stringify({
        id: `embed-${n}`,
        embeddings: coded,
        texts,
        meta: {
          api_version: { version: "2" },
          ...(plan.reportsUsage && { billed_units: { input_tokens: plan.usage.input } }),
        },
        response_type: "embeddings_by_type",
      }),
    steps: () => [],
  };
};

/** Little-endian float32, whatever the machine. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  vector.forEach((value, i) => {
    bytes.writeFloatLE(value, i * 4);
  });
  return bytes.toString("base64");
}

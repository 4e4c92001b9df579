import { type Fields, isObject } from "../field-checks.ts";

const FLOAT_BYTES = 4;

/** The vectors of an answer: floats, or the base64 of their little-endian float32 bytes. Null for an answer that holds none. */
export function vectorsIn({ embeddings }: Fields): number[][] | null {
  const list = isObject(embeddings) ? (embeddings["float"] ?? embeddings["base64"]) : embeddings;
  if (!Array.isArray(list) || list.length === 0) return null;
  const vectors = list.map(vectorOf);
  return vectors.every((vector) => vector !== null) ? vectors : null;
}

function vectorOf(value: unknown): number[] | null {
  if (Array.isArray(value)) return value.every((entry) => typeof entry === "number") ? value : null;
  if (typeof value !== "string") return null;
  const bytes = Buffer.from(value, "base64");
  return Array.from({ length: Math.floor(bytes.length / FLOAT_BYTES) }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES));
}

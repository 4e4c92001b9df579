import type { Cut, Part } from "./plan.ts";

const FILLER = ["lorem", "ipsum", "dolor", "sit", "amet", "sed", "do", "ut"] as const;
const FRAGMENT_CHARS = 12;

/** The one token estimate of the simulator: UTF-8 bytes / 4, rounded up. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Tokens for this many UTF-8 bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The deltas that a part is streamed in; joined they are its text again. */
export function piecesOf({ text, cut }: Part): readonly string[] {
  if (cut === "words") return text.match(/\S+\s*|\s+/g) ?? [];
  if (cut === "fragments") return fragments(text);
  return text === "" ? [] : [text];
}

/** How many deltas a list of parts is streamed in. */
export function countPieces(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + piecesOf(part).length, 0);
}

/** A part of exactly `tokens` words, each a delta billed as one token. */
export function fillerPart(kind: "text" | "reasoning", tokens: number): Part {
  let text = "";
  for (let i = 0; i < tokens; i++) text += `${FILLER[i % FILLER.length]} `;
  return { kind, text, cut: "words", tokens };
}

/** A text part, billed by estimate. */
export function textPart(kind: "text" | "refusal", text: string, cut: Cut): Part {
  return { kind, text, cut, tokens: estimateTokens(text) };
}

/** Cuts into short fragments, never inside a surrogate pair. */
function fragments(text: string): string[] {
  const out: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = from + FRAGMENT_CHARS;
    if (/[\uD800-\uDBFF]/.test(text.charAt(to - 1))) to += 1;
    out.push(text.slice(from, to));
    from = to;
  }
  return out;
}

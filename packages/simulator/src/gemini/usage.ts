import type { Usage } from "../models/plan.ts";

/** The part of a usage that has come about by some point of an answer. */
export type Reached = Pick<Usage, "input" | "cached" | "output" | "reasoning">;

/** `usageMetadata`: thoughts stand outside the candidates, what was cached inside the prompt, zeros are left out. */
export function usageMetadata({ input, cached, output, reasoning }: Reached): string {
  const spoken = Math.max(0, output - reasoning);
  const total = input + spoken + reasoning;
  return `{${[
    member("promptTokenCount", input),
    member("cachedContentTokenCount", Math.min(cached, input)),
    member("candidatesTokenCount", spoken),
    member("totalTokenCount", total),
    details("promptTokensDetails", input),
    details("cacheTokensDetails", Math.min(cached, input)),
    member("thoughtsTokenCount", reasoning),
  ]
    .filter((text) => text !== "")
    .join(",")}}`;
}

function member(name: string, tokens: number): string {
  return tokens === 0 ? "" : `"${name}":${tokens}`;
}

function details(name: string, tokens: number): string {
  return tokens === 0 ? "" : `"${name}":[{"modality":"TEXT","tokenCount":${tokens}}]`;
}

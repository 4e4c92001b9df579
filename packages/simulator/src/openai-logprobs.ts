/** Log probabilities of these tokens, with `top` made-up alternatives each. */
export function logprobEntries(tokens: readonly string[], top: number): unknown[] {
  return tokens.map((token) => entry(token, top));
}

function entry(token: string, top: number): unknown {
  const alternatives: unknown[] = [];
  for (let i = 0; i < top; i++) alternatives.push(one(i === 0 ? token : `${token}~${i}`, i));
  return { ...one(token, 0), top_logprobs: alternatives };
}

function one(token: string, rank: number): { token: string; logprob: number; bytes: number[] } {
  return { token, logprob: -0.125 - rank, bytes: [...Buffer.from(token)] };
}

import { type Fields, isObject } from "../field-checks.ts";
import { pick, pickList, pickObject } from "./fields.ts";

/** `logprobsResult` as OpenAI's token entries; undefined where there is none. Google tells no bytes. */
export function readLogprobs(candidate: Fields): unknown[] | undefined {
  const result = pickObject(candidate, "logprobsResult");
  if (!result) return undefined;
  const tops = pickList(result, "topCandidates");
  return pickList(result, "chosenCandidates").map((chosen, index) => {
    const top = tops[index];
    const others = isObject(top) ? pickList(top, "candidates").map(entry) : [];
    return { ...entry(chosen), top_logprobs: others };
  });
}

function entry(candidate: unknown): Fields {
  const from = isObject(candidate) ? candidate : {};
  return { token: pick(from, "token") ?? "", logprob: pick(from, "logProbability") ?? 0, bytes: null };
}

/** OpenAI's token entries as `logprobsResult`. */
export function writeLogprobs(entries: readonly unknown[]): Fields {
  const list = entries.filter(isObject);
  return {
    chosenCandidates: list.map(candidate),
    topCandidates: list.map(({ top_logprobs: tops }) => ({
      candidates: Array.isArray(tops) ? tops.filter(isObject).map(candidate) : [],
    })),
  };
}

function candidate({ token, logprob }: Fields): Fields {
  return { token, logProbability: logprob };
}

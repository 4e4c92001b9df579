/**
 * What providers put around a model's own name, in the order in which it comes off. Data: one more provider's habit is one
 * more row.
 */
const WRAPPINGS: readonly { at: RegExp; what: string }[] = [
  { at: /^arn:[^/]+\//, what: "an ARN of Bedrock's: foundation-model/…, inference-profile/…" },
  {
    at: /^.*\//,
    what: "who made it, and folders: openai/…, models/…, publishers/google/models/…, accounts/fireworks/models/…",
  },
  {
    at: /^(?:us-gov|us|eu|apac|jp|au|ca|sa|me|global|regional)\.(?=[a-z0-9]+\.)/,
    what: "an inference profile of Bedrock's",
  },
  {
    at: /^(?:anthropic|openai|meta|mistral|cohere|amazon|deepseek|qwen|google|moonshot|moonshotai|nvidia|writer|zai|ai21)\.(?=[a-z])/,
    what: "who made it, at Bedrock",
  },
  { at: /:[a-z][a-z-]*$/, what: "a variant of OpenRouter's, or a server of Hugging Face's: :free, :groq" },
  { at: /@default$/, what: "no version at all, at Vertex" },
  { at: /-v[012](?::\d+)?(?::\d+k)?$/, what: "a version of Bedrock's: -v1:0" },
  { at: /(?:-\d)?:\d+$/, what: "the same, shorter: -1:0, :0" },
];

/** Spellings of one name by different vendors, as they are by their makers. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  // Vertex: claude-sonnet-4-5@20250929.
  [/@/, "-"],
  // OpenRouter: claude-sonnet-4.5; Fireworks: llama-v3p1, deepseek-v3p2.
  [/^(claude-(?:[a-z]+-)?\d+)\.(\d)/, "$1-$2"],
  [/(\d)p(\d)/, "$1.$2"],
  [/^llama-v(\d)/, "llama-$1"],
  // Meta and Bedrock: Meta-Llama-3.1, llama3-1, llama3.1.
  [/^meta-llama-/, "llama-"],
  [/^llama(\d)(?:[.-](\d)(?=-))?/, "llama-$1.$2"],
  [/^llama-(\d)\.-/, "llama-$1-"],
  // Azure: gpt-35-turbo.
  [/^gpt-35-/, "gpt-3.5-"],
];

/** A day or month at the end: 2024-11-20, 20241120, 0613, 2508, 08-2024. */
const DATE = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|\d{4})$/;
/** Any other end that only says which build of a model it is. */
const BUILD = /-(?:latest|\d{3})$/;

/** A model's own name: what vendors put before and behind it taken off, in its maker's spelling, lower case. */
export function bareName(model: string): string {
  let name = model.toLowerCase();
  for (const { at } of WRAPPINGS) name = name.replace(at, "");
  for (const [from, to] of SPELLINGS) name = name.replace(from, to);
  return name;
}

/** The same without the date or the build it ends with; null where it has none. */
export function undated(name: string): string | null {
  const shorter = name.replace(DATE, "").replace(BUILD, "");
  return shorter === name || shorter === "" ? null : shorter;
}

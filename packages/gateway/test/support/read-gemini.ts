import type { Usage } from "@sluicegate/contract";
import { at, type Json, listAt, numberAt, payloadsOf, textAt } from "./loose-json.ts";
import { finishOf, type Reply, type Said, silent, unwrapped } from "./said.ts";

const FILTERED = ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY"];
const FAILED = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "OTHER", "LANGUAGE"];
const WORDS: Record<string, string> = {
  // Enums are numbers with enum-encoding=int.
  ...{ STOP: "stop", "1": "stop", MAX_TOKENS: "length", "2": "length" },
  ...Object.fromEntries(FILTERED.map((word) => [word, "content_filter"])),
  ...Object.fromEntries(FAILED.map((word) => [word, "error"])),
};

interface Growing {
  said: Said;
  word: unknown;
  /** The call whose arguments are still streamed. */
  open: Json | null;
}

/** The response objects of a body: one, an array of them, or events. */
export function geminiResponses(bytes: Buffer): Json[] {
  const text = bytes.toString("utf8").trimStart();
  if (text.startsWith("[")) return JSON.parse(text) as Json[];
  return text.startsWith("{") ? [JSON.parse(text) as Json] : payloadsOf(text);
}

/** What a generateContent answer says, whole or streamed, in whichever framing. */
export function readGemini(bytes: Buffer): Reply {
  const responses = geminiResponses(bytes);
  const growing = new Map<number, Growing>();
  for (const candidate of responses.flatMap((response) => listAt(response, "candidates"))) {
    const index = numberAt(candidate, "index");
    let one = growing.get(index);
    if (!one) {
      one = { said: silent(), word: null, open: null };
      growing.set(index, one);
    }
    for (const part of listAt(candidate, "content", "parts")) addPart(one, part);
    one.word = at(candidate, "finishReason") ?? one.word;
  }
  const choices = [...growing].sort(([a], [b]) => a - b);
  const reports = responses.map((response) => at(response, "usageMetadata"));
  const counted = reports.filter(
    (report) => numberAt(report, "promptTokenCount") + numberAt(report, "totalTokenCount") > 0,
  );
  return {
    choices: choices.map(([, { said, word }]) => ({ ...said, finish: finishOf(word, WORDS, said.calls.length > 0) })),
    usage: counted.length > 0 ? geminiUsage(counted.at(-1)) : null,
    model: responses.map((response) => textAt(response, "modelVersion")).find((model) => model !== "") ?? null,
  };
}

function addPart(one: Growing, part: unknown): void {
  const { said } = one;
  const call = at(part, "functionCall");
  const own = Object.keys(part as Json).every((key) =>
    ["text", "thought", "functionCall", "thoughtSignature"].includes(key),
  );
  // Code that Google ran and tools it called are its own business, and so are their proofs.
  if (!own) return;
  const proof = textAt(part, "thoughtSignature");
  if (proof !== "") said.proofs.push(unwrappedProof(proof));
  const thought = at(part, "thought") === true;
  if (thought) said.reasoning += textAt(part, "text");
  else said.text += textAt(part, "text");
  if (call || (thought && textAt(part, "text") !== "")) said.late = 0;
  else if (proof !== "" && said.text !== "" && said.calls.length === 0) said.late++;
  if (!call) return;
  if (textAt(call, "name") !== "") {
    one.open = { ...((at(call, "args") ?? {}) as Json) };
    said.calls.push({ name: textAt(call, "name"), arguments: one.open });
  }
  for (const piece of listAt(call, "partialArgs")) if (one.open) addPiece(one.open, piece);
}

/** The field holds bytes: a wrapped proof stands in it as the base64 of its text. */
function unwrappedProof(proof: string): string {
  const inner = Buffer.from(proof, "base64").toString("latin1");
  return inner.startsWith("sg1.") ? unwrapped(inner) : proof;
}

/** A streamed argument: its place as a JSON path, and a value that for texts is more of what is there. */
function addPiece(args: Json, piece: unknown): void {
  const path = [...textAt(piece, "jsonPath").matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']+)'\]/g)].map(
    ([, name, place, quoted]) => (place === undefined ? (name ?? quoted ?? "") : Number(place)),
  );
  let here = args as Record<string | number, unknown>;
  path.slice(0, -1).forEach((step, depth) => {
    here[step] ??= typeof path[depth + 1] === "number" ? [] : {};
    here = here[step] as Json;
  });
  const last = path.at(-1);
  if (last === undefined) return;
  const text = at(piece, "stringValue");
  if (typeof text === "string") here[last] = textAt(here, last) + text;
  else if (at(piece, "nullValue") !== undefined) here[last] = null;
  else here[last] = at(piece, "numberValue") ?? at(piece, "boolValue") ?? here[last];
}

/** Thoughts are beside the candidates' tokens, the prompt of tools beside the prompt's; the total holds all. */
function geminiUsage(usage: unknown): Usage {
  const thoughts = numberAt(usage, "thoughtsTokenCount");
  const input = numberAt(usage, "promptTokenCount") + numberAt(usage, "toolUsePromptTokenCount");
  const output = numberAt(usage, "candidatesTokenCount") + thoughts;
  return {
    input_tokens: input,
    cached_input_tokens: numberAt(usage, "cachedContentTokenCount"),
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: Math.max(output, numberAt(usage, "totalTokenCount") - input),
    reasoning_tokens: thoughts,
  };
}

import type { LanguageModelV2, LanguageModelV2CallOptions } from "@ai-sdk/provider";
import { failureOf } from "./failure.ts";

/** A plain, JSON-safe piece of an answer: the SDK's own stream parts, besides `headers` (first) and `reply` (a whole answer). */
export type Part = { type: string } & Record<string, unknown>;

/** One call of a language model. */
export interface LanguageCall {
  /** The SDK's call options in JSON. A file that is elsewhere has `url` in the place of `data`. */
  options: Record<string, unknown>;
  stream: boolean;
  headers: Record<string, string>;
  signal: AbortSignal;
}

type Fields = Record<string, unknown>;

/**
 * Calls the model and gives its answer piece by piece: who stops asking stops the reading. Throws what the package throws
 * (`failureOf` says what that is); an error inside the stream is a part `{ type: "error", status, body }`.
 */
export async function* callLanguageModel(model: LanguageModelV2, call: LanguageCall): AsyncGenerator<Part> {
  const prompt = await revived(model, call.options["prompt"] as Fields[]);
  const options = { ...call.options, prompt, headers: call.headers, abortSignal: call.signal };
  const asked = options as unknown as LanguageModelV2CallOptions;
  if (!call.stream) {
    const { content, finishReason, usage, providerMetadata, warnings, response } = await model.doGenerate(asked);
    const { id, modelId } = response ?? {};
    yield { type: "headers", headers: response?.headers ?? {} };
    yield { type: "stream-start", warnings };
    yield {
      type: "reply",
      reply: { id, modelId, content: content.map(plain), finishReason, usage, providerMetadata },
    };
    return;
  }
  const { stream, response } = await model.doStream(asked);
  yield { type: "headers", headers: response?.headers ?? {} };
  for await (const part of stream) {
    if (part.type === "raw") continue;
    yield part.type === "error" ? errorPart(part.error) : plain(part);
  }
}

/** What JSON cannot say: addresses of files. One that the model's provider does not fetch itself is refused. */
async function revived(model: LanguageModelV2, prompt: readonly Fields[]): Promise<Fields[]> {
  const fetches = await model.supportedUrls;
  const version: string = model.specificationVersion;
  const file = (part: Fields): Fields => {
    const { url, ...rest } = part;
    if (typeof url !== "string") return part;
    const type = String(rest["mediaType"]);
    const able = Object.entries(fetches).some(
      ([pattern, addresses]) => fits(pattern, type) && addresses.some((address) => address.test(url)),
    );
    if (able) return { ...rest, data: new URL(url) };
    const refusal = new Error(`${model.provider} takes no address of a file of type ${type}: send its bytes`);
    throw Object.assign(refusal, { name: "AI_UnsupportedFunctionalityError" });
  };
  return prompt.map((message) => {
    const { content } = message;
    if (!Array.isArray(content)) return message;
    return {
      ...message,
      content: (content as Fields[]).map((part) => (version === "v2" ? file(part) : newer(file(part)))),
    };
  });
}

function fits(pattern: string, type: string): boolean {
  return (
    pattern === "*" ||
    pattern === "*/*" ||
    pattern === type ||
    pattern.replace(/\*$/, "") === type.replace(/[^/]*$/, "")
  );
}

/** AI SDK 6 names the media in a tool's result by what they are. */
function newer(part: Fields): Fields {
  const output = part["output"] as { type: string; value: Fields[] } | undefined;
  if (part["type"] !== "tool-result" || output?.type !== "content") return part;
  const value = output.value.map((piece) => {
    if (piece["type"] !== "media") return piece;
    return { ...piece, type: String(piece["mediaType"]).startsWith("image/") ? "image-data" : "file-data" };
  });
  return { ...part, output: { ...output, value } };
}

/** Bytes as base64. */
function plain(part: object): Part {
  const fields = part as Part;
  const { data } = fields;
  return data instanceof Uint8Array ? { ...fields, data: Buffer.from(data).toString("base64") } : fields;
}

/** Packages hand on what stood in the stream, or an error of their own. */
function errorPart(error: unknown): Part {
  if (!(error instanceof Error)) return { type: "error", status: null, body: error };
  const failure = failureOf(error);
  if (failure.kind === "http") return { type: "error", status: failure.status, body: parsed(failure.body) };
  return { type: "error", status: 502, body: { error: { message: failure.message } } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { error: { message: text } };
  }
}

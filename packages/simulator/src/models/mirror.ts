import type { Ask } from "./ask.ts";

/** What one part of a message is, whatever the dialect calls it. */
export type HeardKind = "text" | "image" | "audio" | "file" | "tool_call" | "tool_result" | "reasoning" | "refusal";

/** What a dialect read of a request beyond the Ask; made only when the model `mirror` is called. */
export interface Heard {
  /** Name of the wire format, as the invoice has it: `openai-chat`, `anthropic-messages`, … */
  readonly dialect: string;
  /** System and developer texts joined by a blank line; null where there are none. */
  readonly system: string | null;
  /** The other messages in order, each with the kinds of its parts in order. */
  readonly messages: readonly { readonly role: string; readonly kinds: readonly HeardKind[] }[];
  readonly tool_results: readonly { readonly id: string; readonly text: string; readonly error: boolean }[];
  /** Media type of each inline image, URL of each linked one. */
  readonly images: readonly string[];
  readonly temperature: number | null;
  readonly top_p: number | null;
  /** Calls of earlier turns, in order; absent where the dialect does not tell, as the members below. */
  readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
  /** What was asked of reasoning, in the dialect's words; null = nothing. */
  readonly reasoning?: string | null;
  readonly cache_markers?: number;
  readonly user?: string | null;
}

/** The answer of the model `mirror`: the same members in every dialect. */
export interface Mirrored extends Heard {
  readonly tools: readonly string[];
  readonly stop: readonly string[];
  readonly max_output: number | null;
  /** `none`, `auto`, `required`, or the name of the tool that is insisted on. */
  readonly tool_choice: string;
  readonly response_format: "text" | "json" | "schema";
  readonly n: number;
}

/** Says what was understood of a request; null for a dialect that does not tell. */
export function mirrored(ask: Ask): Mirrored | null {
  const heard = ask.heard?.();
  if (heard === undefined) return null;
  const { dialect, system, messages, tool_results, images, temperature, top_p } = heard;
  return {
    dialect,
    system,
    messages,
    tools: ask.tools.map((tool) => tool.name),
    tool_results,
    images,
    stop: ask.stop,
    temperature,
    top_p,
    max_output: ask.outputTokensMax,
    tool_choice: ask.toolChoice.name ?? ask.toolChoice.mode,
    response_format: ask.format.kind,
    n: ask.choices,
    ...(heard.tool_calls !== undefined && { tool_calls: heard.tool_calls }),
    ...(heard.reasoning !== undefined && { reasoning: heard.reasoning }),
    ...(heard.cache_markers !== undefined && { cache_markers: heard.cache_markers }),
    ...(heard.user !== undefined && { user: heard.user }),
  };
}

/** The media type of a data URL, any other address as it is. */
export function mediaOf(url: string): string {
  return /^data:([^;,]*)/.exec(url)?.[1] ?? url;
}

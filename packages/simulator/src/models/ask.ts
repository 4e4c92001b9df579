import type { Heard } from "./mirror.ts";

/** A tool the caller offers. `legacy` is OpenAI's old `functions`; `custom` takes free text instead of JSON. */
export interface AskTool {
  readonly kind: "function" | "custom" | "legacy";
  readonly name: string;
  /** What the name stands in, where a dialect knows such. */
  readonly namespace?: string;
  /** JSON Schema of the arguments, as sent. */
  readonly parameters: unknown;
}

/** Whether tools may, must or must not be called; with a name, that one. */
export interface ToolChoice {
  readonly mode: "none" | "auto" | "required";
  readonly name: string | null;
}

/** What shape the text answer must have. */
export type AskFormat =
  | { readonly kind: "text" }
  | { readonly kind: "json" }
  | { readonly kind: "schema"; readonly schema: unknown };

/** What a caller wants, free of any wire format: all that a behaviour may look at. */
export interface Ask {
  readonly stream: boolean;
  /** The text of the last user message, parts joined. */
  readonly text: string;
  /** The last tool result when the conversation ends with one. */
  readonly toolResult: string | null;
  readonly inputTokens: number;
  /** False for embeddings: nothing is generated, output is 0. */
  readonly generates: boolean;
  readonly tools: readonly AskTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly format: AskFormat;
  readonly outputTokensMax: number | null;
  readonly stop: readonly string[];
  /** How many alternative answers (`n`). */
  readonly choices: number;
  /** Further texts that want an answer each, `choices` times; absent = none. */
  readonly furtherTexts?: readonly string[];
  /** What an answer costs where its text does not say: pictures. Absent = by its text. */
  readonly outputTokens?: number;
  /** The request asks for reasoning: every answer begins with some. */
  readonly thinks?: boolean;
  /** What else the dialect read, for the model `mirror`; absent where a dialect does not tell. */
  readonly heard?: () => Heard;
}

/** An Ask for plain text, with what is given instead. */
export function askFor(given: Pick<Ask, "text" | "inputTokens"> & Partial<Ask>): Ask {
  return {
    stream: false,
    toolResult: null,
    generates: true,
    tools: [],
    toolChoice: { mode: "none", name: null },
    parallelCalls: false,
    format: { kind: "text" },
    outputTokensMax: null,
    stop: [],
    choices: 1,
    ...given,
  };
}

import type { TargetName } from "./golden-case.ts";

/** What a golden request says, whoever's words it is in: what the simulator's model `mirror` has to have understood. */
export interface Meaning {
  system: string;
  /** Turns of the two sides; kinds that follow each other and are alike are one, results come first. */
  turns: readonly string[];
  tools: readonly string[];
  calls: readonly [name: string, args: unknown][];
  results: readonly [text: string, error: boolean][];
  images: readonly string[];
  stop: readonly string[];
  temperature: number | null;
  maxOutput: number | null;
  toolChoice: string;
  format: "text" | "json" | "schema";
}

/** A meaning, where it is no plain one, and what is special about it. */
export interface GoldenMeaning extends Partial<Meaning> {
  /** Protocols that cannot be told of it. */
  refusedBy?: readonly TargetName[];
  /** Tools as a model may hear of them instead: those that may be called, or under their bare names. */
  allowed?: readonly string[];
  /** Its own protocol is not asked: it holds proofs that nobody made, or what its mirror does not tell. */
  abroadOnly?: true;
}

/** Meanings by case. */
export const MEANINGS: Readonly<Record<string, GoldenMeaning>> = {
  "chat-plain": {
    system: "Be brief. Be kind. Answer in German. Use ß.",
    turns: ["user text", "model text", "user text"],
    stop: ["\n\nEND"],
    temperature: 0.7,
    maxOutput: 300,
    refusedBy: ["openai-responses"],
  },
  "chat-tools": {
    turns: ["user text"],
    tools: ["weather", "now", "find"],
    allowed: ["weather"],
    toolChoice: "weather",
  },
  "chat-tool-choice-required": { turns: ["user text"], tools: ["f"], toolChoice: "required", maxOutput: 400 },
  "chat-tool-choice-none": {
    turns: ["user text", "model tool_call", "user tool_result"],
    tools: ["f"],
    calls: [["f", {}]],
    results: [["done", false]],
    toolChoice: "none",
  },
  "chat-functions": {
    turns: ["user text", "model tool_call", "user tool_result"],
    tools: ["weather"],
    calls: [["weather", { city: "Oslo" }]],
    results: [["snow", false]],
    toolChoice: "weather",
  },
  "chat-media": {
    turns: ["user text image file"],
    images: ["image/png", "https://example.com/cat.webp?x=1"],
  },
  "chat-json-schema": { turns: ["user text"], format: "schema", maxOutput: 4_000 },
  "chat-json-object": { turns: ["user text"], format: "json", refusedBy: ["anthropic-messages"] },
  "chat-cache-markers": { system: "Long. Short.", turns: ["user text"], tools: ["f"] },
  "responses-codex": {
    system: "You are Codex. <permissions>ask</permissions>",
    turns: ["user text"],
    tools: ["shell", "apply_patch", "mcp__search"],
    allowed: ["shell", "apply_patch", "search"],
    toolChoice: "auto",
  },
  "responses-format": { turns: ["user text", "model text", "user text"], format: "schema" },
  "responses-media": {
    turns: ["user text image file"],
    images: ["https://example.com/a.jpg", "image/jpeg"],
  },
  "messages-claude-code": {
    system: "x-anthropic-billing-header: cc_version=2.1 You are Claude Code. Rules.",
    turns: ["user text"],
    tools: ["Bash", "mcp__docs__search"],
    maxOutput: 32_000,
  },
  "messages-results": {
    abroadOnly: true,
    turns: ["user text", "model tool_call", "user tool_result text"],
    tools: ["shot", "run", "read"],
    calls: [
      ["shot", {}],
      ["run", { command: 'ls "x"' }],
      ["run", { command: "true" }],
      ["read", { path: "a.txt", range: [1, null], deep: { a: { b: [] } } }],
    ],
    results: [
      ["The screen:", false],
      ["exit code 2", true],
      ["", false],
      ["a.txt alpha", false],
    ],
    images: ["image/png"],
    maxOutput: 1_000,
  },
  "messages-images": {
    turns: ["user image text"],
    images: ["image/webp", "https://example.com/cat"],
    maxOutput: 1_000,
  },
  "messages-structured": { turns: ["user text"], format: "schema", maxOutput: 500 },
  "messages-stop": {
    turns: ["user text"],
    stop: ["END", "\n\nHuman:"],
    temperature: 0,
    maxOutput: 500,
    refusedBy: ["openai-responses"],
  },
  "gemini-plain": {
    system: "Be brief. Be kind.",
    turns: ["user text", "model text", "user text"],
    temperature: 0.5,
    maxOutput: 400,
  },
  "gemini-tools": {
    turns: ["user text"],
    tools: ["weather", "now", "ping"],
    allowed: ["weather", "now"],
    toolChoice: "required",
  },
  "gemini-parallel-calls": {
    abroadOnly: true,
    turns: ["user text", "model text tool_call", "user tool_result text"],
    tools: ["shot", "run"],
    calls: [
      ["shot", { of: "Ærø" }],
      ["shot", {}],
      ["run", {}],
    ],
    results: [
      ["done", false],
      ["exit 2", true],
      ['{"width":3,"tags":["a"]}', false],
    ],
    images: ["image/png"],
  },
  "gemini-format": { turns: ["user text"], format: "schema" },
};

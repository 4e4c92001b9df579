import type { Usage } from "@sluicegate/contract";
import type { TargetName } from "./golden-case.ts";

/** One thing an answer says. Lists are the pieces it is streamed in. */
export type Step =
  | { think: string[]; proof?: string }
  /** Thoughts only their maker can read. */
  | { sealed: string }
  | { say: string[] }
  | { refuse: string[] }
  /** `args` are the text of the arguments; `proof` is Gemini's signature on the call. */
  | { call: string; id: string; args: string[]; proof?: string };

/** One of the answers of a reply. */
export interface Alternative {
  steps: Step[];
  finish: "stop" | "length" | "tool_calls" | "content_filter";
  /** The stop sequence that was hit: Anthropic alone tells. */
  stopSequence?: string;
}

/** A canonical answer, to be said in every provider's dialect that can say it. */
export interface AnswerCase {
  name: string;
  alternatives: Alternative[];
  usage: Usage | null;
  /** Who can say it; absent: everybody. */
  sources?: readonly TargetName[];
  /** Calls arrive interleaved, where the dialect can. */
  interleaved?: true;
}

const COUNTED: Usage = usage(12, 34);
const CHATS = ["openai-chat"] as const;
const NOT_GEMINI = ["openai-chat", "openai-responses", "anthropic-messages"] as const;
const OPENAI = ["openai-chat", "openai-responses"] as const;
const THINKERS = ["openai-responses", "anthropic-messages", "gemini-generate"] as const;
const MANY = ["openai-chat", "gemini-generate"] as const;

const WEATHER: Step = {
  call: "weather",
  id: "call_w1",
  args: ['{"ci', 'ty":"Trom', 'sø","days":[1,2],"deep":{"a":null}}'],
};
const NOW: Step = { call: "now", id: "call_n1", args: ["{}"] };

/** The cases. */
export const ANSWERS: readonly AnswerCase[] = [
  one("text", [{ say: ["Hello", " world"] }]),
  one("text in one piece", [{ say: ["Hello"] }]),
  one("unicode outside the BMP", [{ say: ["Grüße 👩‍👩‍👧 ", "𝒳\u2028\u0000\u007f", ' "\\\n\r\t'] }]),
  one("an emoji cut between its surrogates", [{ say: ["a\ud83d", "\ude00b"] }]),
  one("an emoji cut in the thoughts", [{ think: ["x\ud83d", "\ude00"] }, { say: ["y"] }]),
  one("text that looks like an end mark", [{ say: ["data: [DONE]\n\n", "event: message_stop\n\n"] }]),
  one("white space alone", [{ say: [" ", "\n"] }]),
  one("nothing at all", []),
  one("empty text", [{ say: ["", ""] }]),
  one("empty pieces between others", [{ say: ["", "a", "", "b", ""] }]),
  one("many pieces", [{ say: Array.from({ length: 200 }, (_, index) => `${index} ß `) }]),
  one("thoughts, then words", [{ think: ["First ", "this."] }, { say: ["Then that."] }]),
  one("signed thoughts", [{ think: ["I ", "think."], proof: "c2lnLW9uZQ==" }, { say: ["So."] }], "stop", THINKERS),
  one("a signature without words", [{ think: [""], proof: "c2lnLXR3bw==" }, { say: ["So."] }], "stop", THINKERS),
  one("sealed thoughts", [{ sealed: "c2VhbGVk" }, { say: ["So."] }], "stop", [
    "openai-responses",
    "anthropic-messages",
  ]),
  one(
    "two thoughts in a row",
    [{ think: ["One."], proof: "c2lnLTE=" }, { think: ["Two."], proof: "c2lnLTI=" }, { say: ["So."] }],
    "stop",
    ["openai-responses", "anthropic-messages"],
  ),
  one("thoughts between words", [{ say: ["A."] }, { think: ["Hm."], proof: "c2lnLTM=" }, { say: ["B."] }], "stop", [
    "anthropic-messages",
    "openai-responses",
    "gemini-generate",
  ]),
  one("a tool call", [WEATHER], "tool_calls"),
  one("a call without arguments", [NOW], "tool_calls"),
  one("a call whose arguments never come", [{ call: "now", id: "call_n2", args: [""] }], "tool_calls"),
  one("arguments that are no JSON", [{ call: "f", id: "call_f", args: ['{"a":', " oops"] }], "tool_calls", [
    "openai-chat",
    "openai-responses",
  ]),
  one("arguments that are no object", [{ call: "f", id: "call_f", args: ["[1,", "2]"] }], "tool_calls", OPENAI),
  one("words before a call", [{ say: ["Looking."] }, WEATHER], "tool_calls"),
  one("a thought, words and a call", [{ think: ["Need it."] }, { say: ["Looking."] }, WEATHER], "tool_calls"),
  one("a signed thought before a call", [{ think: ["Need it."], proof: "c2lnLTQ=" }, WEATHER], "tool_calls", [
    "openai-responses",
    "anthropic-messages",
  ]),
  one("a signed call", [{ ...WEATHER, proof: "Y2FsbC1zaWc=" } as Step, NOW], "tool_calls", ["gemini-generate"]),
  one("parallel calls", [WEATHER, NOW, { call: "weather", id: "call_w2", args: ['{"city":"Oslo"}'] }], "tool_calls"),
  {
    ...one(
      "interleaved calls",
      [WEATHER, { call: "weather", id: "call_w2", args: ['{"city"', ':"Os', 'lo"}'] }],
      "tool_calls",
      CHATS,
    ),
    interleaved: true,
  },
  one(
    "a call with unicode cut in its arguments",
    [{ call: "f", id: "call_u", args: ['{"a":"\\ud83d', '\\ude00 👋"}'] }],
    "tool_calls",
  ),
  one("a call that a provider ends with stop", [NOW], "stop"),
  one("words behind a call", [NOW, { say: ["Done?"] }], "tool_calls", [
    "openai-responses",
    "anthropic-messages",
    "gemini-generate",
  ]),
  one("cut at the cap", [{ say: ["It goes on and"] }], "length"),
  one("cut at the cap in the thoughts", [{ think: ["Hmm"] }], "length"),
  one("a call cut at the cap", [{ call: "f", id: "call_c", args: ['{"a":"b'] }], "length", OPENAI),
  one("cut by a filter", [{ say: ["I was going to"] }], "content_filter"),
  one("filtered before a word", [], "content_filter"),
  one("a refusal", [{ refuse: ["I can't ", "help with that."] }], "stop", OPENAI),
  {
    ...one("a stop sequence", [{ say: ["Up to"] }], "stop", ["anthropic-messages"]),
    alternatives: [{ steps: [{ say: ["Up to"] }], finish: "stop", stopSequence: "END" }],
  },
  {
    ...one("cached and reasoned", [{ say: ["ok"] }]),
    usage: { ...usage(1_000, 50), cached_input_tokens: 900, reasoning_tokens: 40 },
  },
  {
    ...one("written to the cache", [{ say: ["ok"] }], "stop", NOT_GEMINI),
    usage: { ...usage(1_000, 50), cached_input_tokens: 100, cache_write_tokens: 700 },
  },
  {
    ...one("written for an hour", [{ say: ["ok"] }], "stop", ["anthropic-messages"]),
    usage: { ...usage(1_000, 50), cache_write_tokens: 700, cache_write_1h_tokens: 300 },
  },
  { ...one("no usage", [{ say: ["ok"] }], "stop", MANY), usage: null },
  {
    name: "three answers",
    alternatives: [
      { steps: [{ say: ["a", "b"] }], finish: "stop" },
      { steps: [{ say: ["c"] }], finish: "length" },
      { steps: [{ say: ["d", "e", "f"] }], finish: "stop" },
    ],
    usage: COUNTED,
    sources: MANY,
  },
  {
    name: "two answers, one of them a call",
    alternatives: [
      { steps: [WEATHER], finish: "tool_calls" },
      { steps: [{ say: ["No need."] }], finish: "stop" },
    ],
    usage: COUNTED,
    sources: MANY,
  },
];

function one(
  name: string,
  steps: Step[],
  finish: Alternative["finish"] = "stop",
  sources?: readonly TargetName[],
): AnswerCase {
  return { name, alternatives: [{ steps, finish }], usage: COUNTED, ...(sources && { sources }) };
}

function usage(input: number, output: number): Usage {
  return {
    input_tokens: input,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: output,
    reasoning_tokens: 0,
  };
}

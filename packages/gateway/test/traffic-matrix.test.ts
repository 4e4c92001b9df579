import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { OTHER_DIALECTS } from "./support/chat-sources.ts";
import {
  CHAT_MATRIX,
  COHERE_SOURCES,
  COMPLETIONS_SOURCES,
  GEMINI_SOURCES,
  type MatrixSource,
  MESSAGES_SOURCES,
  RESPONSES_SOURCES,
} from "./support/matrix-sources.ts";
import { readTraffic, trafficDir } from "./support/replay-server.ts";

/*
 * The whole of the recorded traffic: which suite plays which file, and why the rest is not played here. The suites hold the
 * tables of records by client dialect; here nothing falls between them.
 */

/** Files by the suite that plays every one of their lines. */
const PLAYED: Readonly<Record<string, readonly MatrixSource[]>> = {
  "traffic-messages": MESSAGES_SOURCES,
  "traffic-gemini": GEMINI_SOURCES,
  "traffic-responses": RESPONSES_SOURCES,
  "traffic-completions": COMPLETIONS_SOURCES,
  "traffic-chat-abroad": CHAT_MATRIX,
  "traffic-cohere": COHERE_SOURCES,
};
const EMBEDDINGS = ["openai-embeddings", "voyage-embeddings", "gemini-embed"];

/** Lines of each suite. */
const LINES = {
  "traffic-messages": 69,
  "traffic-gemini": 111,
  "traffic-responses": 137,
  "traffic-completions": 11,
  "traffic-chat-abroad": 390,
  "traffic-cohere": 18,
};

/** Files that no suite of the matrix plays, by reason. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "a dialect of no provider kind of this build": [
    ...Object.keys(OTHER_DIALECTS).filter((file) => file !== "cohere-chat"),
    ...["bedrock-converse", "bedrock-invoke", "bedrock-invoke-embed", "gemini-interactions"],
    ...["ollama-native-embed", "ollama-native-generate"],
  ],
  "embeddings in words of a provider's own, which vertex.test.ts plays": ["vertex-embed"],
  "embeddings in words of a provider's own, which traffic-cohere.test.ts plays": ["cohere-embed"],
  "a count of tokens, which is made here or passed on, and never translated": [
    ...["anthropic-count-tokens", "bedrock-count-tokens", "gemini-count-tokens", "vertex-count-tokens"],
    "openai-responses-input-tokens",
  ],
  "a sub-resource of the Responses API, which goes to its own deployment": [
    ...["openai-responses-compact", "openai-responses-get"],
  ],
  "a list of models, which the gateway makes itself": ["cerebras-models", "gemini-models"],
  "a transcription, which has one dialect": [
    ...["groq-audio-transcriptions", "mistral-audio-transcriptions", "openai-audio-transcriptions"],
  ],
  "a ranking, for which clients have no path": ["cohere-rerank", "together-rerank", "voyage-rerank"],
};

const dir = trafficDir();

function linesOf(file: string): number {
  return readFileSync(join(dir ?? "", `${file}.jsonl`), "utf8").match(/\S[^\n]*/g)?.length ?? 0;
}

describe.skipIf(dir === null)("the matrix of recorded traffic, where SLUICEGATE_TRAFFIC_DIR has it", () => {
  test("every file is played by one suite, or left out for a reason", () => {
    const files = readdirSync(dir ?? "").flatMap((name) => /^(.+)\.jsonl$/.exec(name)?.[1] ?? []);
    const played = Object.values(PLAYED).flatMap((sources) => sources.map(({ file }) => file));
    const known = [...played, ...EMBEDDINGS, ...Object.values(LEFT_OUT).flat(), "error-shapes"];
    expect(known.sort()).toEqual(files.sort());
  });

  test.each(Object.entries(PLAYED))("%s plays every line of its files", (suite, sources) => {
    const records = sources.map(({ file }) => readTraffic(dir ?? "", file).length);
    const lines = sources.map(({ file }) => linesOf(file));
    expect(records).toEqual(lines);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBe(LINES[suite as keyof typeof LINES]);
  });

  test.each(Object.entries(LEFT_OUT))("left out: %s", (_reason, files) => {
    const clients =
      /\/(?:chat\/completions|messages|responses|completions|embeddings)$|:(?:stream)?[gG]enerateContent$|:batchEmbedContents$/;
    const paths = files.flatMap((file) => readTraffic(dir ?? "", file).map(({ request }) => request.path));
    expect(paths.filter((path) => clients.test(path.split("?")[0] ?? ""))).toEqual([]);
  });

  test("of the error shapes, only Bedrock's are of no kind of this build", () => {
    const kinds = Object.values(PLAYED).flat();
    const others = readTraffic(dir ?? "", "error-shapes").filter(
      ({ provider }) => !kinds.some(({ file }) => file.startsWith(`${provider}-`) && provider !== "bedrock"),
    );
    expect(others.map(({ id }) => id)).toEqual(["shape:bedrock-429-throttled", "shape:bedrock-stream-exception-frame"]);
  });
});

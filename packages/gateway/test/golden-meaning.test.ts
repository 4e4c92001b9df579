import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GoldenCase, goldenCases, TARGETS, type TargetName } from "./golden/golden-case.ts";
import { MEANINGS, type Meaning } from "./golden/meanings.ts";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, textAt } from "./support/loose-json.ts";

/*
 * The golden requests in the words of every client dialect, through a gateway, to every protocol of the simulator, whose model
 * `mirror` answers with what it understood. The bodies are the case itself and its reviewed snapshots.
 */

const APIS: Record<TargetName, { api: string; client: ClientName }> = {
  "openai-chat": { api: "chat", client: "chat" },
  "openai-responses": { api: "responses", client: "responses" },
  "anthropic-messages": { api: "messages", client: "messages" },
  "gemini-generate": { api: "generate", client: "gemini" },
};

const CONFIG = [
  "providers: { sim: { kind: simulator, base_url: SIMULATOR } }",
  "deployments:",
  ...TARGETS.map((target) => `  ${target}: { provider: sim, model: mirror, api: ${APIS[target].api} }`),
  "routes:",
  ...TARGETS.map((target) => `  ${target}: { chain: [${target}], retries: { attempts: 1 } }`),
  "tenants: { default: { models: { allow: ['*'] } } }",
  "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
].join("\n");

const CASES = goldenCases().filter(({ name }) => MEANINGS[name]);
const PAIRS = TARGETS.flatMap((client) => TARGETS.map((target) => ({ client, target })));

/** Chat shows the picture of a result in a message of the user's behind it. */
const PLACEHOLDER = /\[image: see [^\]]*\]/;

const NOTHING: Meaning = {
  ...{ system: "", turns: [], tools: [], calls: [], results: [], images: [], stop: [] },
  ...{ temperature: null, maxOutput: null, toolChoice: "auto", format: "text" },
};

describe("what a golden request says", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway({ config: CONFIG });
  });
  afterAll(() => gateway.close());

  test("is written down for cases enough", () => {
    expect(CASES.length).toBe(Object.keys(MEANINGS).length);
    expect(CASES.length).toBeGreaterThanOrEqual(20);
  });

  test.each(PAIRS)("from a client of $client reaches $target", async ({ client, target }) => {
    const wrong: unknown[] = [];
    for (const golden of CASES) {
      const body = bodyOf(golden, client);
      if (!body) continue;
      for (const stream of [false, true]) {
        const told = await tell(gateway, golden, { client, target, body, stream });
        if (told) wrong.push(told);
      }
    }
    expect(wrong).toEqual([]);
  });
});

interface Told {
  client: TargetName;
  target: TargetName;
  body: Json;
  stream: boolean;
}

/** Sends a case; what the model understood otherwise, or null. */
async function tell(
  gateway: TestGateway,
  golden: GoldenCase,
  { client, target, body, stream }: Told,
): Promise<unknown> {
  const dialect = DIALECTS[APIS[client].client];
  const { refusedBy = [], allowed, abroadOnly, ...given } = MEANINGS[golden.name] ?? {};
  const { model: _, stream: __, stream_options: ___, ...rest } = body;
  const named = client === "gemini-generate" ? rest : { ...rest, model: target, ...(stream && { stream }) };
  if (abroadOnly && client === target) return null;
  const response = await gateway.post(named, {
    path: dialect.path(target, stream),
    ...(body === golden.body && golden.headers && { headers: golden.headers }),
  });
  const text = await response.text();
  if (refusedBy.includes(target) && client !== target) {
    return response.status === 400 && text.includes("cannot express") ? null : { case: golden.name, stream, text };
  }
  if (response.status !== 200) return { case: golden.name, stream, status: response.status, text };
  const [said] = dialect.read(Buffer.from(text), stream).choices;
  const heard = JSON.parse(said?.text ?? "null") as Json;
  const meant = { ...NOTHING, toolChoice: given.tools ? "auto" : "none", ...given };
  meant.system = squeezed(meant.system);
  meant.results = meant.results.map(([result, failed]) => [squeezed(result), failed]);
  // Who needs a cap has been given one.
  const got = { ...understood(heard), ...(meant.maxOutput === null && { maxOutput: null }) };
  // Where only some tools may be called, a model need not hear of the others.
  if (JSON.stringify(got.tools) === JSON.stringify(allowed)) got.tools = meant.tools;
  if (heard["dialect"] !== target) return { case: golden.name, dialect: heard["dialect"] };
  const differing = Object.keys(meant).filter(
    (key) =>
      got[key as keyof Meaning] !== undefined &&
      JSON.stringify(got[key as keyof Meaning]) !== JSON.stringify(meant[key as keyof Meaning]),
  );
  return differing.length === 0
    ? null
    : {
        case: golden.name,
        stream,
        differing: differing.map((key) => [key, got[key as keyof Meaning], meant[key as keyof Meaning]]),
      };
}

/** The case in a client's words: its own, or the body it comes to there. Null where that client cannot say it. */
function bodyOf(golden: GoldenCase, client: TargetName): Json | null {
  const file = new URL(`./golden/requests/${golden.name}.${client}.snap`, import.meta.url);
  if (!existsSync(file)) return golden.body;
  const snapshot = JSON.parse(readFileSync(file, "utf8")) as Json;
  return (snapshot["body"] as Json | undefined) ?? null;
}

/** What `mirror` understood, in the form of a meaning. */
function understood(heard: Json): Partial<Meaning> {
  const calls = at(heard, "tool_calls");
  return {
    system: squeezed(textAt(heard, "system")),
    turns: turnsOf(heard),
    tools: listAt(heard, "tools").map(String),
    ...(Array.isArray(calls) && { calls: calls.map((call) => [textAt(call, "name"), at(call, "arguments")]) }),
    results: listAt(heard, "tool_results").map(resultOf),
    images: listAt(heard, "images").map(String),
    stop: listAt(heard, "stop").map(String),
    // One is what everybody takes when nothing is said.
    temperature: at(heard, "temperature") === 1 ? null : (at(heard, "temperature") as number | null),
    maxOutput: at(heard, "max_output") as number | null,
    toolChoice: textAt(heard, "tool_choice"),
    format: textAt(heard, "response_format") as Meaning["format"],
  };
}

/** Chat has no mark for an error but the word, and shows a result's picture in the user's message behind it. */
function resultOf(result: unknown): [string, boolean] {
  const text = squeezed(textAt(result, "text").replace(PLACEHOLDER, ""));
  const marked = /^Error:/.exec(text)?.[0];
  return [
    text === "{}" ? "" : marked ? text.slice(marked.length) : text,
    at(result, "error") === true || marked !== undefined,
  ];
}

function turnsOf(heard: Json): string[] {
  const turns: { side: string; kinds: string[] }[] = [];
  for (const message of listAt(heard, "messages")) {
    const side = /^(?:assistant|model)$/.test(textAt(message, "role")) ? "model" : "user";
    const kinds = listAt(message, "kinds").map(String);
    const last = turns.at(-1);
    if (last?.side === side) last.kinds.push(...kinds);
    else turns.push({ side, kinds });
  }
  return turns.map(({ side, kinds }) =>
    [side, ...kinds.filter((kind, index) => kind !== kinds[index - 1])]
      .join(" ")
      // What a result shows may stand behind it with a word on whose it is, and a file's name before the file.
      .replace("tool_result text image", "tool_result")
      .replace("text file", "file")
      // Thoughts without a proof go to whoever takes them.
      .replace("reasoning ", ""),
  );
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, "");
}

import { expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

const PICTURE = "data:image/png;base64,AAAA";

async function mirror(simulator: Simulator, path: string, body: object): Promise<Loose> {
  const response = await fetch(`${simulator.url}${path}`, {
    method: "POST",
    body: JSON.stringify({ model: "mirror", ...body }),
  });
  const answer: Loose = await response.json();
  return JSON.parse(answer.choices?.[0].message.content ?? answer.output[0].content[0].text);
}

/** What both requests below say. */
const UNDERSTOOD = {
  system: "be brief\n\nand kind",
  messages: [
    { role: "user", kinds: ["text", "image"] },
    { role: "assistant", kinds: ["text", "tool_call"] },
    { role: "tool", kinds: ["tool_result"] },
  ],
  tools: ["weather"],
  tool_results: [{ id: "c1", text: "sunny", error: false }],
  images: ["image/png"],
  temperature: 0.5,
  top_p: null,
  max_output: 1000,
  tool_choice: "weather",
  response_format: "json",
};

test("chat and responses say the same of the same request", async () => {
  const simulator = await simulate();
  const chat = await mirror(simulator, "/v1/chat/completions", {
    messages: [
      { role: "system", content: "be brief" },
      { role: "developer", content: [{ type: "text", text: "and kind" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: PICTURE } },
        ],
      },
      {
        role: "assistant",
        content: "well",
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
    ],
    tools: [{ type: "function", function: { name: "weather" } }],
    tool_choice: { type: "function", function: { name: "weather" } },
    response_format: { type: "json_object" },
    temperature: 0.5,
    max_completion_tokens: 1000,
    stop: ["x"],
    n: 2,
  });
  expect(chat).toEqual({ dialect: "openai-chat", ...UNDERSTOOD, stop: ["x"], n: 2 });
  const responses = await mirror(simulator, "/v1/responses", {
    instructions: "be brief",
    input: [
      { role: "developer", content: "and kind" },
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: PICTURE },
        ],
      },
      { role: "assistant", content: [{ type: "output_text", text: "well" }] },
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "sunny" },
    ],
    tools: [{ type: "function", name: "weather" }],
    tool_choice: { type: "function", name: "weather" },
    text: { format: { type: "json_object" } },
    temperature: 0.5,
    max_output_tokens: 1000,
  });
  expect(responses).toEqual({ dialect: "openai-responses", ...UNDERSTOOD, stop: [], n: 1 });
});

import { inflateSync } from "node:zlib";
import OpenAI, { toFile } from "openai";
import { expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";
import { tinyPng } from "./png.ts";

function client(simulator: Simulator): OpenAI {
  return new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "k", maxRetries: 0 });
}

test("pictures are PNGs, paid by quality, size and number", async () => {
  const simulator = await simulate();
  const openai = client(simulator);
  const model = "gpt-image-1";
  const body = await openai.images.generate({ model, prompt: "a red cat", n: 2, quality: "low", size: "1024x1536" });
  expect(body).toMatchObject({ quality: "low", size: "1024x1536", output_format: "png", background: "opaque" });
  expect(body.usage).toEqual({
    input_tokens: 3,
    input_tokens_details: { image_tokens: 0, text_tokens: 3 },
    output_tokens: 816,
    total_tokens: 819,
  });
  const [first, second] = (body.data ?? []).map((picture) => Buffer.from(picture.b64_json ?? "", "base64"));
  expect(first?.subarray(1, 4).toString()).toBe("PNG");
  expect(first?.readUInt32BE(16)).toBe(8);
  expect(inflateSync(first?.subarray(41, -16) ?? "")).toHaveLength(8 * (1 + 8 * 3));
  expect(first?.equals(second ?? Buffer.alloc(0))).toBe(false);
  expect(simulator.invoice().lines[0]).toMatchObject({ dialect: "openai-images", input_tokens: 3, output_tokens: 816 });
});

test("partial pictures come as events before the whole one", async () => {
  const simulator = await simulate();
  const ask = { model: "gpt-image-1?output=100", prompt: "cat", stream: true as const, partial_images: 2 };
  const events: Loose[] = [];
  for await (const event of await client(simulator).images.generate(ask)) events.push(event);
  expect(events.map((event) => [event.type, event.partial_image_index])).toEqual([
    ["image_generation.partial_image", 0],
    ["image_generation.partial_image", 1],
    ["image_generation.completed", undefined],
  ]);
  expect(events[2].usage.output_tokens).toBe(100);
  const cut = { ...ask, model: "cut?after=1&output=100" };
  const response = await fetch(`${simulator.url}/v1/images/generations`, { method: "POST", body: JSON.stringify(cut) });
  expect((await response.text()).match(/^event: /gm)).toHaveLength(1);
  expect(simulator.invoice().lines[1]).toMatchObject({ output_tokens: 50, finished: false });
});

test("edits are forms, and what they are given counts as input", async () => {
  const simulator = await simulate();
  const image = await toFile(tinyPng("cat"), "cat.png", { type: "image/png" });
  const edit = { model: "gpt-image-1", prompt: "blue", image: [image, image], n: 2 };
  const body = await client(simulator).images.edit(edit);
  expect(body.data).toHaveLength(2);
  expect(body.usage?.input_tokens_details).toEqual({ image_tokens: 170, text_tokens: 1 });
  const events: Loose[] = [];
  const stream = await client(simulator).images.edit({ ...edit, n: 1, stream: true, partial_images: 1 });
  for await (const event of stream) events.push(event.type);
  expect(events).toEqual(["image_edit.partial_image", "image_edit.completed"]);
  expect(simulator.invoice().lines[1]).toMatchObject({ dialect: "openai-image-edits", stream: true });
});

test("older models give addresses and no usage; newer ones take no response_format", async () => {
  const openai = client(await simulate());
  const older = await openai.images.generate({ model: "dall-e-3", prompt: "cat" });
  expect(older.data?.[0]).toEqual({ url: expect.stringMatching(/^https:/), revised_prompt: "cat" });
  expect(older).not.toHaveProperty("usage");
  const newer = openai.images.generate({ model: "gpt-image-1", prompt: "cat", response_format: "url" });
  await expect(newer).rejects.toMatchObject({ status: 400, code: "unknown_parameter", param: "response_format" });
  await expect(openai.images.generate({ model: "filter", prompt: "x" })).rejects.toMatchObject({ status: 400 });
});

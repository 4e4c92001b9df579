import type { Call } from "../../src/core/call.ts";
import { openaiChat } from "../../src/protocols/openai-chat/index.ts";

/** A decoded chat request of one short message, with what `body` adds to it. */
export function chatCall(body: Record<string, unknown> = {}): Call {
  const raw = Buffer.from(JSON.stringify({ model: "default", messages: [{ role: "user", content: "hi" }], ...body }));
  return openaiChat.decodeRequest({
    raw,
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { query: "" },
  });
}

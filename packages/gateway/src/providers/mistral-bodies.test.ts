import fc from "fast-check";
import { expect, test } from "vitest";
import { strictMessages } from "../protocols/openai-chat/strict-messages.ts";
import type { StrictMessages } from "../protocols/protocol.ts";
import { MISTRAL_BODIES } from "./mistral-bodies.ts";

const RULES = MISTRAL_BODIES["openai-chat"]?.messages as StrictMessages;
const id = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^[a-zA-Z0-9]{9}$/));
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string() }, { requiredKeys: ["type", "text"] }),
  fc.record({ type: fc.constant("text"), text: fc.string(), cache_control: fc.constant({ type: "ephemeral" }) }),
  fc.constant({ type: "input_audio", input_audio: { data: "eA==", format: "wav" } }),
  fc.constant({ type: "file", file: { file_data: "eA==", filename: "a.pdf" } }),
);
const message = fc.oneof(
  fc.record(
    {
      role: fc.constantFrom("system", "developer", "user"),
      content: fc.array(part, { minLength: 1 }),
      name: fc.string(),
    },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record(
    {
      role: fc.constant("assistant"),
      content: fc.oneof(fc.string(), fc.constant(null)),
      refusal: fc.oneof(fc.string(), fc.constant(null)),
      reasoning_content: fc.string(),
      tool_calls: fc.array(
        id.map((one) => ({ id: one, type: "function", function: { name: "f", arguments: "{}" } })),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record({ role: fc.constant("tool"), tool_call_id: id, content: fc.string() }),
);

test("whatever is said comes out as the server takes it, and so stays as it is a second time", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const given = JSON.stringify(messages);
      const fitted = strictMessages(messages, RULES, new Set()) ?? messages;
      expect(JSON.stringify(messages)).toBe(given);
      expect(strictMessages(fitted, RULES, new Set())).toBeNull();
      let before = "";
      for (const one of fitted as Record<string, unknown>[]) {
        const role = String(one["role"]);
        expect(Object.keys(one).filter((key) => RULES.members[role]?.has(key) !== true)).toEqual([]);
        expect(before === "tool" && role !== "tool" && role !== "assistant").toBe(false);
        for (const call of (one["tool_calls"] as { id: string }[] | undefined) ?? [])
          expect(call.id).toMatch(/^[a-zA-Z0-9]{9}$/);
        before = role;
      }
    }),
  );
});

test("calls and their results keep fitting each other, the same in every request", () => {
  fc.assert(
    fc.property(id, (one) => {
      const messages = [
        { role: "assistant", tool_calls: [{ id: one, type: "function", function: { name: "f", arguments: "{}" } }] },
        { role: "tool", tool_call_id: one, content: "" },
      ];
      const run = (): unknown => strictMessages(messages, RULES, new Set()) ?? messages;
      const fitted = run() as { tool_calls: { id: string }[]; tool_call_id: string }[];
      expect(fitted[1]?.tool_call_id).toBe(fitted[0]?.tool_calls[0]?.id);
      expect(run()).toEqual(fitted);
    }),
  );
});

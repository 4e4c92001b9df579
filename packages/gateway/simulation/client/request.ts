import type { ClientSpec } from "./spec.ts";

const PATHS = { "openai-chat": "/v1/chat/completions", "anthropic-messages": "/v1/messages" } as const;

/** Where a client of a dialect posts. */
export function pathOf({ dialect }: ClientSpec): string {
  return PATHS[dialect];
}

/** Headers of one request of a client's. */
export function headersOf(spec: ClientSpec, mark: string): Record<string, string> {
  return {
    ...{ "content-type": "application/json", "x-request-id": mark },
    ...(spec.dialect === "openai-chat"
      ? { authorization: `Bearer ${spec.key}` }
      : { "x-api-key": spec.key, "anthropic-version": "2023-06-01" }),
    ...(spec.metadata && { "x-sluicegate-metadata": "on" }),
    ...spec.headers,
  };
}

/** Its body. The prompt says whose it is, and what it brings about. */
export function bodyOf(spec: ClientSpec, mark: string): Buffer {
  const { dialect, alias, stream, maxTokens, platform } = spec;
  const text = `#${spec.sharedMark ?? mark}${spec.wants ? `!${spec.wants}` : ""}:${spec.words}# ${"x".repeat(spec.promptChars)}`;
  const common = {
    model: alias,
    stream,
    ...(Object.keys(platform).length > 0 && { gateway: platform }),
  };
  const body =
    dialect === "openai-chat"
      ? {
          ...common,
          messages: chatMessages(spec, text),
          ...(maxTokens !== null && { max_tokens: maxTokens }),
          ...(stream && spec.showsUsage && { stream_options: { include_usage: true } }),
        }
      : { ...common, messages: messagesMessages(spec, text), max_tokens: maxTokens ?? 1_024 };
  return Buffer.from(JSON.stringify(body));
}

function chatMessages({ toolResults }: ClientSpec, text: string): unknown[] {
  const asked = { role: "user", content: text };
  if (!toolResults) return [asked];
  return [
    asked,
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "pay", arguments: '{"n":1}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "paid" },
  ];
}

function messagesMessages({ toolResults }: ClientSpec, text: string): unknown[] {
  const asked = { role: "user", content: text };
  if (!toolResults) return [asked];
  return [
    asked,
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "pay", input: { n: 1 } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "paid" }] },
  ];
}

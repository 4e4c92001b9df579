import { noUsage, type Usage } from "@sluicegate/contract";
import type { Choice, Reply } from "../../core/message.ts";
import type { FinishReason, StreamPart } from "../../core/stream-part.ts";
import type { Fields } from "../field-checks.ts";
import { answerId } from "../openai-chat/client-tools.ts";
import { renderUsage } from "../openai-chat/usage.ts";
import { mergeUsage } from "../protocol.ts";
import type { Shown, StreamWriter } from "../translation.ts";

const DONE = "data: [DONE]\n\n";

/** An answer as a `text_completion`: its text alone, for this dialect has no words for more. */
export function encodeReply(reply: Reply, shown: Shown): Buffer {
  return Buffer.from(
    JSON.stringify({
      ...head(shown, reply.model ?? shown.model),
      choices: reply.choices.map((choice, index) => ({
        ...said(textOf(choice), index),
        ...finished(choice.finish ?? "stop"),
      })),
      ...(reply.usage && { usage: renderUsage(reply.usage) }),
    }),
  );
}

/** Writes a stream of `text_completion` chunks: text, finish reason, usage if the client asked for it, end mark. */
export function streamWriter(shown: Shown): StreamWriter {
  const { showsUsage } = shown.call;
  /** Choices without a finish reason so far. */
  const open = new Set<number>();
  let usage: Usage | null = null;
  let { model } = shown;
  const chunk = (rest: Fields): string => `data: ${JSON.stringify({ ...head(shown, model), ...rest })}\n\n`;
  const one = (choice: Fields): Buffer => Buffer.from(chunk({ choices: [choice], ...(showsUsage && { usage: null }) }));
  return {
    write(part: StreamPart) {
      switch (part.type) {
        case "start":
          model = part.model ?? model;
          return null;
        case "usage":
          usage = mergeUsage(usage ?? noUsage(), part.usage);
          return null;
        case "text":
        case "refusal":
          open.add(part.choice);
          return part.text === "" ? null : one({ ...said(part.text, part.choice), finish_reason: null });
        case "finish":
          open.delete(part.choice);
          return one({ ...said("", part.choice), ...finished(part.reason) });
        default:
          return null;
      }
    },
    end(metadata) {
      // What ended without saying why has ended.
      const closing = [...open].map((choice) => one({ ...said("", choice), ...finished("stop") }));
      const shownUsage = showsUsage && usage ? { usage: renderUsage(usage) } : {};
      const told = metadata ? { gateway_metadata: metadata } : {};
      const members = { ...shownUsage, ...told };
      const last = Object.keys(members).length === 0 ? "" : chunk({ choices: [], ...members });
      return Buffer.concat([...closing, Buffer.from(last + DONE)]);
    },
  };
}

function head(shown: Shown, model: string): Fields {
  return { id: answerId("cmpl-", shown), object: "text_completion", created: shown.createdS, model };
}

function said(text: string, index: number): Fields {
  return { text, index, logprobs: null };
}

function finished(reason: FinishReason): Fields {
  // No tools were given; a model that calls one all the same has stopped.
  return { finish_reason: reason === "tool_calls" ? "stop" : reason };
}

function textOf({ blocks }: Choice): string {
  return blocks.map((block) => (block.type === "text" || block.type === "refusal" ? block.text : "")).join("");
}

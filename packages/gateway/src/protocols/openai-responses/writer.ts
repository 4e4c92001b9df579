import { noUsage, type Usage } from "@sluicegate/contract";
import type { Choice, Reply } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import type { Fields } from "../field-checks.ts";
import { mergeUsage } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import type { Shown, StreamWriter } from "../translation.ts";
import { Output } from "./output.ts";
import { type Progress, responseObject, statusOf } from "./response-object.ts";

/** Writes a Responses stream (WIRE A2.3): typed events in the vendor's order, numbered, ended by the whole response. */
export function streamWriter(shown: Shown): StreamWriter {
  let said: string[] = [];
  let sequence = 0;
  let started = false;
  let model: string | null = null;
  let usage: Usage | null = null;
  const emit = (type: string, fields: Fields): void => {
    said.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: sequence++ })}\n\n`);
  };
  const output = new Output(shown.requestId, shown.call.body, emit);
  const start = (): void => {
    if (started) return;
    started = true;
    const response = responseObject(shown, { model, output: [], finish: null, usage: null });
    emit("response.created", { response });
    emit("response.in_progress", { response });
  };
  const flush = (): Buffer | null => {
    if (said.length === 0) return null;
    const bytes = Buffer.from(said.join(""));
    said = [];
    return bytes;
  };
  return {
    write(part) {
      if (part.type === "usage") {
        usage = mergeUsage(usage ?? noUsage(), part.usage);
        return null;
      }
      // A client of this dialect cannot ask for a second answer, and would take it for more of the first.
      if ("choice" in part && part.choice !== 0) return null;
      if (part.type === "start") model = part.model;
      start();
      output.write(part);
      return flush();
    },
    end(metadata) {
      start();
      output.close();
      const finish = output.finish ?? "stop";
      const response = responseObject(shown, { model, output: output.items, finish, usage });
      emit(`response.${statusOf(finish)}`, { response, ...(metadata && { gateway_metadata: metadata }) });
      return flush() ?? Buffer.alloc(0);
    },
  };
}

/** A whole answer as a response object. */
export function encodeReply(reply: Reply, shown: Shown): Buffer {
  const output = new Output(shown.requestId, shown.call.body, () => {});
  const [choice] = reply.choices;
  for (const part of choice ? partsOf(choice) : []) output.write(part);
  output.close();
  const progress: Progress = {
    model: reply.model,
    output: output.items,
    finish: output.finish ?? "stop",
    usage: reply.usage,
  };
  return Buffer.from(JSON.stringify(responseObject(shown, progress)));
}

/** An answer as the parts a stream would have said. Citations stand behind the last text. */
function partsOf({ blocks, annotations, logprobs, finish }: Choice): StreamPart[] {
  const parts: StreamPart[] = [];
  const lastText = blocks.findLastIndex((block) => block.type === "text");
  const firstText = blocks.findIndex((block) => block.type === "text");
  const citations = annotations.map((annotation): StreamPart => ({ type: "annotation", choice: 0, annotation }));
  blocks.forEach((block, index) => {
    switch (block.type) {
      case "text": {
        const entries = index === firstText && logprobs ? { logprobs } : {};
        parts.push({ type: "text", choice: 0, text: block.text, ...entries });
        break;
      }
      case "refusal":
        parts.push({ type: "refusal", choice: 0, text: block.text });
        break;
      case "reasoning": {
        const { text, signature, encrypted } = block;
        parts.push({
          type: "reasoning",
          choice: 0,
          text,
          ...(signature && { signature }),
          ...(encrypted && { encrypted }),
        });
        break;
      }
      case "tool_call": {
        const { id, name, custom, signature } = block;
        const text = block.text === "" && block.arguments ? JSON.stringify(block.arguments) : block.text;
        const marks = { ...(custom && { custom }), ...(signature && { signature }) };
        parts.push({ type: "tool_start", choice: 0, index, id, name, ...marks });
        parts.push({ type: "tool_arguments", choice: 0, index, text });
        parts.push({ type: "tool_end", choice: 0, index });
        break;
      }
      default:
    }
    if (index === lastText) pushAll(parts, citations);
  });
  if (lastText === -1) pushAll(parts, citations);
  parts.push({ type: "finish", choice: 0, reason: finish ?? "stop" });
  return parts;
}

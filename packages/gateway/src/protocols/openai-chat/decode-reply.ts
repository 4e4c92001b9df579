import type { Annotation, Block, Choice, Reply, ToolCallBlock } from "../../core/message.ts";
import { madeCallId } from "../call-ids.ts";
import { type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import { type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { readToolName } from "../tool-names.ts";
import { opaque, readAnnotation, readMedia } from "./annotations.ts";
import { finishReasonOf } from "./finish.ts";
import { googleSignature, readReasoning, signatureOf } from "./reasoning.ts";
import { customPart } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

/** What a good JSON answer says (`readReply` has seen that it is one). */
export function decodeReply(body: Buffer, quirks: Quirks): Reply {
  const reply = replyObject(body) ?? {};
  const choices = Array.isArray(reply["choices"]) ? reply["choices"].filter(isObject) : [];
  const id = stringOf(reply["id"]);
  const report = readUsage(reply["usage"], quirks);
  const citations = sources(reply["citations"]);
  return {
    id,
    model: stringOf(reply["model"]),
    choices: choices.map((choice, index) => decodeChoice(choice, index, id ?? "", index === 0 ? citations : [])),
    usage: wholeUsage(report),
  };
}

function decodeChoice(choice: Fields, index: number, answerId: string, citations: Annotation[]): Choice {
  const message = isObject(choice["message"]) ? choice["message"] : {};
  const calls = readCalls(message, `${answerId}/${index}`);
  const { blocks: thoughts, calls: signatures } = readReasoning(message, new Set(calls.map((call) => call.id)));
  for (const call of calls) {
    const signature = call.signature ?? signatures.get(call.id);
    if (signature) call.signature = signature;
  }
  const signed = googleSignature(message);
  if (signed) thoughts.push({ type: "reasoning", text: "", signature: signed });
  const { blocks, annotations } = readAnswer(message);
  const finish = finishReasonOf(choice["finish_reason"]);
  const stopSequence = stringOf(choice["stop_reason"]);
  return {
    blocks: [...thoughts, ...blocks, ...calls],
    // Some say `stop` although they called tools, some nothing at all (Snowflake).
    finish: calls.length > 0 && (finish === "stop" || finish === null) ? "tool_calls" : finish,
    stopSequence: finish === "stop" && calls.length === 0 ? stopSequence : null,
    logprobs: logprobsOf(choice["logprobs"]),
    annotations: [...annotations, ...citations],
  };
}

/** What is said: text, pieces of content (Mistral), a refusal, and what stands beside. */
function readAnswer(message: Fields): { blocks: Block[]; annotations: Annotation[] } {
  const blocks: Block[] = [];
  const annotations: Annotation[] = [];
  const { content, refusal } = message;
  if (typeof content === "string" && content !== "") blocks.push({ type: "text", text: content });
  for (const piece of Array.isArray(content) ? content.filter(isObject) : []) {
    const block = readPiece(piece);
    if (block) blocks.push(block);
    else annotations.push(opaque({ content: [piece] }));
  }
  if (typeof refusal === "string" && refusal !== "") blocks.push({ type: "refusal", text: refusal });
  if (Array.isArray(message["annotations"])) pushAll(annotations, message["annotations"].map(readAnnotation));
  pushAll(annotations, readMedia(message));
  return { blocks, annotations };
}

function readPiece(piece: Fields): Block | null {
  if (piece["type"] === "thinking" && Array.isArray(piece["thinking"])) {
    const text = piece["thinking"].map((thought: unknown) => (isObject(thought) ? wordOf(thought["text"]) : ""));
    const signature = signatureOf(piece["signature"], null, "text");
    return { type: "reasoning", text: text.join(""), ...(signature && { signature }) };
  }
  return typeof piece["text"] === "string" ? { type: "text", text: piece["text"] } : null;
}

function readCalls(message: Fields, place: string): ToolCallBlock[] {
  const given = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : [];
  const older = message["function_call"];
  const calls: Fields[] = [...given];
  if (calls.length === 0 && isObject(older) && stringOf(older["name"]) !== null) calls.push({ function: older });
  return calls.map((call, index) => {
    const custom = customPart(call);
    const named = custom ?? (isObject(call["function"]) ? call["function"] : {});
    const name = readToolName(stringOf(named["name"]) ?? "");
    const input = custom ? custom["input"] : named["arguments"];
    const text = typeof input === "string" ? input : isAbsent(input) ? "" : JSON.stringify(input);
    const parsed = custom ? undefined : parsedArguments(text);
    const signature = googleSignature(call);
    return {
      type: "tool_call",
      id: stringOf(call["id"]) ?? madeCallId(place, index, name),
      name,
      ...(parsed && { arguments: parsed }),
      text,
      ...(custom && { custom: true as const }),
      ...(signature && { signature }),
    };
  });
}

function logprobsOf(given: unknown): unknown[] | null {
  if (!isObject(given)) return null;
  const entries = given["content"] ?? given["refusal"];
  return Array.isArray(entries) ? entries : null;
}

/** Perplexity and xAI name their sources beside the choices. */
function sources(citations: unknown): Annotation[] {
  const urls = Array.isArray(citations) ? citations.filter((each) => typeof each === "string") : [];
  return urls.map((url) => ({ type: "url_citation", url, title: null, start: null, end: null }));
}

function stringOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

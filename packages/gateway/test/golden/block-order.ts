import { at, type Json, listAt, payloadsOf, textAt } from "../support/loose-json.ts";
import { geminiResponses } from "../support/read-gemini.ts";
import type { AnswerCase } from "./answer-cases.ts";

/** What a piece of an answer is, whatever its dialect calls it. */
export type Kind = "think" | "say" | "call";

/** Client dialects that keep thoughts, words and calls in the order they were said. */
export type OrderedClient = "messages" | "responses" | "gemini" | "gemini-array";

/** Can the dialect tell in which order things were said? */
export function keepsOrder(client: string): client is OrderedClient {
  return client === "messages" || client === "responses" || client.startsWith("gemini");
}

/** The order of what an answer says; what follows its like is one with it, calls excepted. */
export function orderSaid({ alternatives }: AnswerCase): Kind[] {
  const kinds = (alternatives[0]?.steps ?? []).flatMap((step): Kind[] => {
    if ("call" in step) return step.proof === undefined ? ["call"] : ["think", "call"];
    if ("sealed" in step) return ["think"];
    if ("think" in step) return step.think.join("") === "" && step.proof === undefined ? [] : ["think"];
    return ("say" in step ? step.say : step.refuse).join("") === "" ? [] : ["say"];
  });
  return merged(kinds);
}

/** The order in which a client is told, by its own dialect's blocks, items or parts. */
export function orderTold(client: OrderedClient, body: Buffer, stream: boolean): Kind[] {
  const text = body.toString("utf8");
  if (client.startsWith("gemini")) return merged(geminiResponses(body).flatMap(candidateKinds));
  const events = stream ? payloadsOf(text) : [];
  if (client === "messages") {
    const blocks = stream
      ? events.flatMap((event) => (event["type"] === "content_block_start" ? [event["content_block"]] : []))
      : listAt(JSON.parse(text), "content");
    return merged(blocks.map(blockKind));
  }
  const items = stream
    ? events.flatMap((event) => (event["type"] === "response.output_item.added" ? [event["item"]] : []))
    : listAt(JSON.parse(text), "output");
  return merged(items.map(itemKind));
}

function blockKind(block: unknown): Kind {
  const type = textAt(block, "type");
  return type === "text" ? "say" : type === "tool_use" ? "call" : "think";
}

function itemKind(item: unknown): Kind {
  const type = textAt(item, "type");
  return type === "message" ? "say" : type === "reasoning" ? "think" : "call";
}

function candidateKinds(response: Json): Kind[] {
  const first = listAt(response, "candidates").find((candidate) => (at(candidate, "index") ?? 0) === 0);
  return listAt(first, "content", "parts").flatMap((part): Kind[] => {
    if (at(part, "functionCall")) return ["call"];
    if (at(part, "thought") === true) return ["think"];
    if (textAt(part, "text") !== "") return ["say"];
    return at(part, "thoughtSignature") === undefined ? [] : ["think"];
  });
}

function merged(kinds: readonly Kind[]): Kind[] {
  return kinds.filter((kind, index) => kind === "call" || kind !== kinds[index - 1]);
}

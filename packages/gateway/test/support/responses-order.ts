import { namedEvents, orderly } from "./event-order.ts";
import { at, type Json, listAt, numberAt, textAt } from "./loose-json.ts";

/** Kinds of item, with the members that events build up. */
const PARTS = /^response\.(output_text|refusal|reasoning_summary_text|reasoning_text)\.(delta|done)$/;
const CALLS = /^response\.(function_call_arguments|custom_tool_call_input)\.(delta|done)$/;
const ADDED = /^response\.(content_part|reasoning_summary_part)\.(added|done)$/;

interface Item {
  id: unknown;
  done: boolean;
  /** Text of what is being built, in pieces; null: nothing is open. */
  part: string | null;
  parts: number;
  text: string;
}

/**
 * Is a stream as the Responses SDKs expect it (WIRE A2.3)? Numbers without gaps, items opened and closed, parts inside
 * items, every `done` repeating its pieces, and a last event whose response repeats the items.
 */
export function responsesOrder(text: string): void {
  const items = new Map<number, Item>();
  const output: unknown[] = [];
  const events = namedEvents(text).map(({ name, data }, place) => {
    const event = JSON.parse(data) as Json;
    orderly(event["type"] === name, `event ${name} is of type ${event["type"]}`);
    orderly(event["sequence_number"] === place, `event ${place} has number ${event["sequence_number"]}`);
    return event;
  });
  const [created, inProgress] = events;
  orderly(created?.["type"] === "response.created", "response.created is first");
  orderly(inProgress?.["type"] === "response.in_progress", "response.in_progress is second");
  orderly(listAt(created, "response", "output").length === 0, "nothing is there yet");
  for (const event of events.slice(2, -1)) step(event, items, output);
  const last = events.at(-1);
  const status = textAt(last, "response", "status");
  orderly(/^(?:completed|incomplete|failed)$/.test(status), `the response is ${status}`);
  orderly(last?.["type"] === `response.${status}`, "the last event says how it ended");
  orderly(at(last, "response", "id") === at(created, "response", "id"), "one id");
  orderly(
    [...items.values()].every(({ done }) => done),
    "every item is done",
  );
  orderly(JSON.stringify(at(last, "response", "output")) === JSON.stringify(output), "the response repeats its items");
}

function step(event: Json, items: Map<number, Item>, output: unknown[]): void {
  const type = textAt(event, "type");
  const index = numberAt(event, "output_index");
  if (type === "response.output_item.added") {
    orderly(!items.has(index) && index === items.size, `item ${index} is added in its turn`);
    const id = at(event, "item", "id");
    orderly(typeof id === "string" && id !== "", "an item has an id");
    items.set(index, { id, done: false, part: null, parts: 0, text: "" });
    return;
  }
  const item = items.get(index);
  orderly(item !== undefined && !item.done, `${type} of an item that is not open`);
  if (type === "response.output_item.done") {
    orderly(item.part === null, "an item closes behind its parts");
    orderly(at(event, "item", "id") === item.id, "it is the same item");
    item.done = true;
    output[index] = event["item"];
    return;
  }
  orderly(event["item_id"] === item.id, `${type} names its item`);
  if (ADDED.test(type)) partStep(type, event, item);
  else if (PARTS.test(type)) pieceStep(type, event, item);
  else if (CALLS.test(type)) callStep(type, event, item);
  else orderly(/annotation\.added$|image_generation_call/.test(type), `what is ${type}?`);
}

function partStep(type: string, event: Json, item: Item): void {
  const place = at(event, "content_index") ?? at(event, "summary_index");
  orderly(place === item.parts, "parts are numbered in their order");
  if (type.endsWith("added")) {
    orderly(item.part === null, "one part at a time");
    item.part = "";
    return;
  }
  orderly(item.part !== null, "a part that is done was open");
  const said = textAt(event, "part", "text") || textAt(event, "part", "refusal");
  orderly(said === item.part, "a part repeats its pieces");
  item.part = null;
  item.parts++;
}

function pieceStep(type: string, event: Json, item: Item): void {
  orderly(item.part !== null, `${type} in an open part`);
  if (type.endsWith("delta")) item.part += textAt(event, "delta");
  else orderly((textAt(event, "text") || textAt(event, "refusal")) === item.part, `${type} repeats its pieces`);
}

function callStep(type: string, event: Json, item: Item): void {
  if (type.endsWith("delta")) item.text += textAt(event, "delta");
  else orderly((textAt(event, "arguments") || textAt(event, "input")) === item.text, `${type} repeats its pieces`);
}

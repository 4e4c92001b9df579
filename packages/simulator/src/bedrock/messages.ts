import { type InputBlock, readBlock, type Tally } from "./blocks.ts";
import { listAt, objectAt, wrong } from "./refusals.ts";

/** One turn. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: readonly InputBlock[];
}

/** Validates the messages and reads them: alternating turns, the user's first, every call answered in the next one. */
export function readMessages(value: unknown, tally: Tally): Turn[] {
  const list = listAt(value, "messages");
  if (list.length === 0)
    wrong(
      "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    );
  const turns = list.map((item, i) => readTurn(item, i, tally));
  if (turns[0]?.role !== "user") {
    wrong(
      "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    );
  }
  for (const [i, turn] of turns.entries()) {
    const before = turns[i - 1];
    if (before?.role === turn.role) {
      wrong(
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
      );
    }
    checkAnswers(before, turn);
    if (turn.role === "assistant" && idsOf(turn, "toolUse").length > 0) checkCalls(turn, turns[i + 1]);
  }
  return turns;
}

function readTurn(item: unknown, i: number, tally: Tally): Turn {
  const at = `messages.${i}`;
  const { role, content } = objectAt(item, at);
  if (role !== "user" && role !== "assistant") return wrong(`The role at ${at} must be user or assistant.`, at);
  const list = listAt(content, `${at}.content`);
  if (list.length === 0)
    wrong(
      `The content field in the Message object at ${at} is empty. Add a ContentBlock object to the content field and try again.`,
      at,
    );
  const blocks = list.flatMap((block, k) => readBlock(block, role, `${at}.content.${k}`, tally) ?? []);
  const holds = (member: string): boolean => blocks.some((block) => block.member === member);
  if (holds("document") && !holds("text")) wrong("A text block must be included along with the document.", at);
  return { role, blocks };
}

function checkAnswers(before: Turn | undefined, turn: Turn): void {
  if (turn.role !== "user") return;
  const asked = before === undefined ? [] : idsOf(before, "toolUse");
  const stray = idsOf(turn, "toolResult").find((id) => !asked.includes(id));
  if (stray !== undefined) {
    wrong("The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.");
  }
}

function checkCalls(turn: Turn, next: Turn | undefined): void {
  const answered = next === undefined ? [] : idsOf(next, "toolResult");
  const left = idsOf(turn, "toolUse").filter((id) => !answered.includes(id));
  if (left.length > 0) wrong(`Expected toolResult blocks for the following Ids: ${left.join(", ")}`);
}

function idsOf({ blocks }: Turn, member: string): string[] {
  return blocks.flatMap((block) => (block.member === member && block.id !== null ? [block.id] : []));
}

import { type InputBlock, readBlock, readText } from "./input-blocks.ts";
import { checkMembers, listAt, objectAt, wrong } from "./refusals.ts";
import type { Tally } from "./tally.ts";

const MESSAGES_MAX = 100_000;

/** What the model in question does not take. */
export interface Refuses {
  readonly prefill: boolean;
  readonly systemTurns: boolean;
}

/** What the behaviours need of a conversation. */
export interface Conversation {
  /** The last text a user wrote. */
  readonly text: string;
  readonly toolResult: string | null;
  /** Texts of system turns within the conversation. */
  readonly systems: readonly string[];
  readonly prefilled: boolean;
  /** Type of the first block of the last assistant turn when a tool loop goes on from it. */
  readonly loopStart: string | null;
}

interface Turn {
  readonly role: string;
  readonly blocks: InputBlock[];
  readonly at: string;
}

/** Validates the messages and reads them; neighbours of one role are one turn. Every fault is a 400. */
export function readMessages(value: unknown, tally: Tally, refuses: Refuses): Conversation {
  const list = listAt(value, "messages");
  if (list.length === 0) wrong("messages", "at least one message is required");
  if (list.length > MESSAGES_MAX) wrong("messages", `at most ${MESSAGES_MAX} messages are allowed`);
  const turns: Turn[] = [];
  const systems: string[] = [];
  for (const [i, item] of list.entries()) {
    const turn = readTurn(item, i, i === list.length - 1, tally);
    tally.messages.push({ role: turn.role, kinds: turn.blocks.map((block) => block.kind) });
    const before = turns.at(-1);
    if (turn.role === "system") {
      if (refuses.systemTurns || before?.role !== "user") {
        wrong("", "role 'system' is not supported on this model");
      }
      systems.push(turn.blocks.map((block) => block.text).join(""));
    } else if (before?.role === turn.role) before.blocks.push(...turn.blocks);
    else turns.push(turn);
  }
  if (turns[0]?.role !== "user") wrong("", 'messages: first message must use the "user" role');
  checkCalls(turns);
  const last = turns.at(-1);
  if (last?.role === "assistant" && refuses.prefill) {
    wrong("", "This model does not support assistant message prefill. The conversation must end with a user message.");
  }
  return { ...spoken(turns), systems, prefilled: last?.role === "assistant" };
}

function spoken(turns: readonly Turn[]): Pick<Conversation, "text" | "toolResult" | "loopStart"> {
  const users = turns.filter((turn) => turn.role === "user");
  const texts = users.map((turn) =>
    turn.blocks
      .filter((block) => block.type === "text")
      .map((block) => block.text)
      .join(""),
  );
  const last = turns.at(-1);
  const results = last?.role === "user" ? last.blocks.filter((block) => block.type === "tool_result") : [];
  const looping = results.length > 0;
  return {
    text: texts.findLast((text) => text !== "") ?? "",
    toolResult: results.at(-1)?.text ?? null,
    loopStart: looping ? (turns.at(-2)?.blocks[0]?.type ?? null) : null,
  };
}

function readTurn(item: unknown, i: number, isLast: boolean, tally: Tally): Turn {
  const at = `messages.${i}`;
  const message = objectAt(item, at);
  checkMembers(message, ["role", "content"], at);
  const { role, content } = message;
  if (role === undefined) wrong(`${at}.role`, "Field required");
  if (role !== "user" && role !== "assistant" && role !== "system") {
    wrong(`${at}.role`, "Input should be 'user' or 'assistant'");
  }
  const optional = isLast && role === "assistant";
  if (content === "" || (Array.isArray(content) && content.length === 0)) {
    if (optional) return { role, blocks: [], at };
    const words = "all messages must have non-empty content except for the optional final assistant message";
    wrong(at, words);
  }
  if (typeof content === "string") {
    const text = readText(content, `${at}.content`, tally);
    if (optional && text !== text.trimEnd()) {
      wrong("", "messages: final assistant content cannot end with trailing whitespace");
    }
    return { role, blocks: [{ type: "text", kind: "text", text, id: null }], at };
  }
  const blocks = listAt(content, `${at}.content`).map((block, k) =>
    readBlock(block, role === "system" ? "user" : role, `${at}.content.${k}`, tally),
  );
  if (role === "system" && blocks.some((block) => block.type !== "text" && !block.type.startsWith("tool_"))) {
    wrong(`${at}.content`, "system messages may only contain text");
  }
  return { role, blocks, at };
}

/** Every tool_use is answered, once, at the head of the next turn; nothing else is answered. */
function checkCalls(turns: readonly Turn[]): void {
  const seen = new Set<string>();
  for (const [i, turn] of turns.entries()) {
    const asked = idsOf(turns[i - 1], "tool_use");
    const results = idsOf(turn, "tool_result");
    const stray = results.find((id) => !asked.includes(id));
    if (stray !== undefined) {
      const text = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
      wrong(`${turn.at}.content`, text);
    }
    const twice = results.find((id, k) => results.indexOf(id) !== k);
    if (twice !== undefined) {
      wrong(
        turn.at,
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
      );
    }
    for (const id of idsOf(turn, "tool_use")) {
      if (seen.has(id)) wrong(turn.at, "`tool_use` ids must be unique");
      seen.add(id);
    }
    checkAnswered(turn, turns[i + 1]);
  }
}

function checkAnswered(turn: Turn, next: Turn | undefined): void {
  const asked = idsOf(turn, "tool_use");
  if (asked.length === 0) return;
  const head = next?.blocks.findIndex((block) => block.type !== "tool_result") ?? 0;
  const leading = next === undefined ? [] : head < 0 ? next.blocks : next.blocks.slice(0, head);
  const left = asked.filter((id) => !leading.some((block) => block.id === id));
  if (left.length === 0) return;
  const text = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${left.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  wrong(turn.at, text);
}

function idsOf(turn: Turn | undefined, type: string): string[] {
  return turn?.blocks.flatMap((block) => (block.type === type && block.id !== null ? [block.id] : [])) ?? [];
}

import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { countOption } from "./options.ts";
import { UsageError } from "./run-command.ts";

/** Which member of the question each flag is, and how the flag is declared. */
interface Flag {
  member: string;
  flags: string;
  words: string;
  read?: (text: string) => unknown;
}

const FLAGS: readonly Flag[] = [
  { member: "tenant", flags: "--tenant <name>", words: "who asks (default: the only one there is)" },
  { member: "key_id", flags: "--key <id>", words: "with which key; the tenant is the key's" },
  { member: "dialect", flags: "--dialect <name>", words: "the client's protocol (default: openai-chat)" },
  { member: "task_class", flags: "--task-class <name>", words: "platform field" },
  { member: "classification", flags: "--classification <name>", words: "platform field" },
  { member: "residency", flags: "--residency <name>", words: "platform field: a region, or a group of them" },
  { member: "session_id", flags: "--session <id>", words: "platform field" },
  { member: "user", flags: "--user <id>", words: "platform field" },
  { member: "agent", flags: "--agent <name>", words: "platform field" },
  { member: "team", flags: "--team <name>", words: "the key's" },
  { member: "application", flags: "--application <name>", words: "the key's, or the platform field" },
  { member: "priority", flags: "--priority <priority>", words: "platform field: high, normal or low" },
  { member: "hedge", flags: "--hedge", words: "platform field" },
  { member: "side_effecting", flags: "--side-effecting", words: "platform field" },
  { member: "stream", flags: "--stream", words: "it wants a stream" },
  { member: "tools", flags: "--tools <count>", words: "it offers so many tools", read: countOption },
  { member: "images", flags: "--images", words: "it holds images" },
  { member: "documents", flags: "--documents", words: "it holds documents" },
  { member: "audio", flags: "--audio", words: "it holds audio" },
  { member: "json_schema", flags: "--json-schema", words: "it wants an answer of a JSON schema" },
  {
    member: "input_tokens",
    flags: "--input-tokens <count>",
    words: "tokens of input (default: 100)",
    read: countOption,
  },
  {
    member: "max_output_tokens",
    flags: "--max-output-tokens <count>",
    words: "its cap on the output",
    read: countOption,
  },
  {
    ...{ member: "last_message_chars", flags: "--last-message-chars <count>", read: countOption },
    words: "characters of the user's last message",
  },
  { member: "draw", flags: "--draw <number>", words: "what strategies draw, 0 to 1 (default: 0.5)", read: drawOption },
];

/** Adds the flags that describe a request. */
export function withQuestion(command: Command): Command {
  for (const { flags, words, read } of FLAGS) {
    if (read) command.option(flags, words, read);
    else command.option(flags, words);
  }
  return command.option("--tag <name=value>", "platform field; may be given several times", collected);
}

/** The body of POST /admin/explain. Throws UsageError for flags that do not go together. */
export function questionOf(
  alias: string | undefined,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const asked: Record<string, unknown> = {};
  for (const { member, flags } of FLAGS) {
    const value = options[nameOf(flags)];
    if (value !== undefined) asked[member] = value;
  }
  if (options["tag"] !== undefined) asked["tags"] = Object.fromEntries(options["tag"] as [string, string][]);
  const request = options["request"];
  if (request === undefined) {
    if (alias === undefined) throw new UsageError("name an alias, or with --request a request that was made");
    return { alias, ...asked };
  }
  const stray = alias === undefined ? Object.keys(asked)[0] : "an alias";
  if (stray !== undefined) throw new UsageError(`${stray} has no meaning beside --request: the request has its own`);
  return { request_id: request };
}

/** The name commander gives a flag: `--task-class <name>` is `taskClass`. */
function nameOf(flags: string): string {
  const [flag = ""] = flags.split(" ");
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function collected(text: string, before: [string, string][] | undefined): [string, string][] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("a tag is written as name=value.");
  return [...(before ?? []), [text.slice(0, at), text.slice(at + 1)]];
}

function drawOption(text: string): number {
  const draw = Number(text);
  if (/^[\d.]+$/.test(text) && draw >= 0 && draw < 1) return draw;
  throw new InvalidArgumentError("this is a number from 0 to below 1.");
}

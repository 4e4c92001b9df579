import { z } from "zod";
import type { KeyEntry, Snapshot } from "../config/snapshot.ts";
import type { Capability } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { PROTOCOLS, protocolNamed } from "../protocols/registry.ts";
import type { RouteFacts } from "../routing/facts.ts";

const COUNT = "must be a whole number from 0 on";
const YES_OR_NO = "must be true or false";
const count = (words: string) => z.int(COUNT).min(0, COUNT).describe(words).optional();
const flag = (words: string) => z.boolean(YES_OR_NO).describe(words).optional();
const text = (words: string) => z.string("must be a text").min(1, "must not be empty").describe(words).optional();

/** Body of POST /admin/explain: a request that was made, or one that might be. */
export const explainBody = z.strictObject({
  request_id: text("A request that was made, also one that was refused. Nothing else goes with it."),
  alias: text("What is asked for: an alias, `provider/model` or `deployment:NAME`."),
  tenant: text("Who asks."),
  key_id: text("With which key; its tenant is the key's."),
  dialect: text("The client's protocol, for example `openai-chat` (the default) or `anthropic-messages`."),
  task_class: text("Platform field."),
  classification: text("Platform field."),
  residency: text("Platform field."),
  session_id: text("Platform field."),
  user: text("Platform field."),
  agent: text("Platform field."),
  team: text("That of the key."),
  application: text("That of the key, or the platform field."),
  tags: z.record(z.string(), z.string(), "must be a map of texts").describe("Platform field.").optional(),
  priority: z.enum(["high", "normal", "low"], "must be one of high, normal, low").optional(),
  hedge: flag("Platform field."),
  fallback: flag("Platform field."),
  side_effecting: flag("Platform field."),
  latency_budget_ms: count("Platform field."),
  stream: flag("It wants a stream."),
  tools: count("Tools it offers."),
  images: flag("It holds images."),
  documents: flag("It holds documents."),
  audio: flag("It holds audio."),
  json_schema: flag("It wants an answer of a JSON schema."),
  input_tokens: count("Tokens of input (default: 100)."),
  max_output_tokens: count("Its cap on the output."),
  last_message_chars: count("Characters of the last message of the user's."),
  draw: z
    .number("must be a number from 0 to 1")
    .min(0)
    .lt(1)
    .describe("The random number that strategies draw from, from 0 to 1 (default: 0.5).")
    .optional(),
});

/** One such body, read. */
export type ExplainBody = z.output<typeof explainBody>;

const INPUT_TOKENS_DEFAULT = 100;
const DRAW_DEFAULT = 0.5;
const NEEDS = ["images", "documents", "audio", "json_schema"] as const;
const CAPABILITIES: Readonly<Record<(typeof NEEDS)[number], Capability>> = {
  images: "vision",
  documents: "documents",
  audio: "audio",
  json_schema: "json_schema",
};
const SAME_NAMES = [
  ...(["task_class", "classification", "residency", "user", "agent", "team", "application", "tags"] as const),
  ...(["hedge", "fallback", "side_effecting", "latency_budget_ms"] as const),
  ...(["max_output_tokens", "last_message_chars"] as const),
];

/** What routing would look at. Throws invalid_request for a body that says too little, and for a dialect that nobody speaks. */
export function hypotheticalFacts(snapshot: Snapshot, asked: ExplainBody, tenant: string, atMs: number): RouteFacts {
  const { alias, dialect, session_id: session, priority, tools, stream } = asked;
  if (alias === undefined) throw new GatewayError("invalid_request", "alias is missing", { param: "alias" });
  const protocol = dialect === undefined ? PROTOCOLS[0] : protocolNamed(dialect);
  if (!protocol) {
    const known = PROTOCOLS.filter(({ clientPaths, matchPath }) => clientPaths.length > 0 || matchPath);
    const names = known.map(({ name }) => name).join(", ");
    throw new GatewayError("invalid_request", `dialect must be one of ${names}`, { param: "dialect" });
  }
  const needs = NEEDS.flatMap((name) => (asked[name] === true ? CAPABILITIES[name] : []));
  if (tools !== undefined && tools > 0) needs.unshift("tools");
  const facts: RouteFacts = {
    ...{ at: atMs, revision: snapshot.revision, alias, operation: protocol.operation, dialect: protocol.name },
    input_tokens: asked.input_tokens ?? INPUT_TOKENS_DEFAULT,
    tenant,
    draw: asked.draw ?? DRAW_DEFAULT,
  };
  // A count that somebody gives is meant.
  if (asked.input_tokens !== undefined) facts.input_tokens_min = asked.input_tokens;
  if (stream === true) facts.stream = true;
  if (needs.length > 0) facts.needs = needs;
  if (tools !== undefined && tools > 0) facts.tools = tools;
  if (session !== undefined) facts.session = session;
  if (priority !== undefined && priority !== "normal") facts.priority = priority;
  for (const name of SAME_NAMES) if (asked[name] !== undefined) Object.assign(facts, { [name]: asked[name] });
  return facts;
}

/** What a key says of its holder. */
export function ofKey(key: KeyEntry | null): Pick<ExplainBody, "team" | "application"> {
  return {
    ...(key?.team != null && { team: key.team }),
    ...(key?.application != null && { application: key.application }),
  };
}

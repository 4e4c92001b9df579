import type { Call, Operation, PlatformFields } from "../core/call.ts";
import { foundMembers } from "./call-members.ts";
import { parseJsonBody } from "./json-body.ts";
import { platformFields, takeLabel } from "./platform-fields.ts";
import type { ClientRequest } from "./protocol.ts";

/** What every call without messages, tools and sampling has to say for itself. */
export interface PlainFacts extends Partial<Call> {
  dialect: string;
  operation: Operation;
  alias: string;
  platform: PlatformFields;
}

/** A call without messages and tools: everything `facts` does not say is the value that asks for nothing. */
export function plainCall({ raw, path }: ClientRequest, facts: PlainFacts): Call {
  return {
    stream: false,
    needs: new Set(),
    maxOutputTokens: null,
    choices: 1,
    inputTokensEstimate: 1,
    holdsToolResults: false,
    reasons: false,
    showsUsage: true,
    path,
    dialectHeaders: {},
    pinnedTo: null,
    raw,
    body: {},
    members: [],
    modelAt: null,
    ...facts,
  };
}

/** A JSON body with its members and platform fields; the client's `user` is the platform's, unless that is set. */
export function plainBody(request: ClientRequest): Pick<Call, "body" | "members" | "modelAt" | "platform"> {
  const { raw, header } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  const { members, modelAt } = foundMembers(raw, parsed);
  const platform = platformFields(body, request);
  const { user } = body;
  takeLabel(platform, "user", user);
  return { body, members, modelAt, platform };
}

/** Tokens of a text, roughly, for `Call.inputTokensEstimate`. */
export function roughTokens(chars: number): number {
  return Math.max(1, Math.ceil(chars / 4));
}

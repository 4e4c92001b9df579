import type { Deployment } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type Crossing, openCrossing, translates } from "../protocols/translate.ts";
import { type Provider, spokenBy } from "../providers/provider.ts";

/** How a call gets to a deployment. */
export interface Lane {
  /** As the client's own bytes (null), or translated. */
  crossing: Crossing | null;
  /** What of its meaning is lost on the way, in the client's words; cut to what a row can hold. */
  lost: readonly string[];
}

/** A client can send any number of fields that a deployment has no word for; some are named. */
const LOST_NAMED_MAX = 16;
const LOST_CHARS_MAX = 120;
const NOTHING: readonly string[] = [];

/** Reads a call for translation once, when the first deployment needs it. */
export function crossingOnDemand(client: Protocol, call: Call): () => Crossing | null {
  let crossing: Crossing | null | undefined;
  return () => {
    if (crossing === undefined) crossing = openCrossing(client, call);
    return crossing;
  };
}

/** The protocol by which a deployment answers a client; undefined: none. Any deployment's tokens can be counted, if need be by the gateway. */
export function protocolTo(client: Protocol, provider: Provider, deployment: Deployment): Protocol | undefined {
  const counter = client.translation?.family === "count" ? client : undefined;
  return protocolFor(spokenBy(provider, deployment), client, deployment.api) ?? counter;
}

/** The provider's protocol for a client: the one the deployment names, the client's own, or the first it translates to. */
function protocolFor(protocols: readonly Protocol[], client: Protocol, api: string | null): Protocol | undefined {
  const own = protocols.find((protocol) => protocol === client);
  if (api === null) return own ?? protocols.find((protocol) => translates(client, protocol));
  const named = protocols.find((protocol) => protocol.api === api && translates(client, protocol));
  // What the named API has no say in (embeddings beside a chat API) stays what it is.
  return own?.api === api || !named ? own : named;
}

/**
 * How a call gets to a deployment: as the client's own bytes, or translated; and what of its meaning is lost on the way. A
 * server of the client's own dialect that is stricter than the dialect is asked what it takes, like any other.
 */
export function laneTo(
  { client, call, open }: { client: Protocol; call: Call; open: () => Crossing | null },
  { quirks }: Provider,
  protocol: Protocol,
  { model, maxOutputTokens }: Deployment,
): Lane {
  const strict = quirks.strict?.[protocol.name];
  const own = protocol === client;
  const crossing = own && !strict ? null : open();
  if (!crossing) return { crossing, lost: NOTHING };
  const passes = own && protocol.splices?.(call) !== false;
  const fields = crossing.inexpressible(protocol, { model, quirks, maxOutputTokens });
  const lost = passes && strict ? fields.filter((field) => !strict.keeps.test(field)) : fields;
  // What a route lets drop, the translation knows how to leave out.
  return { crossing: passes && lost.length === 0 ? null : crossing, lost: named(lost) };
}

function named(lost: readonly string[]): readonly string[] {
  const shown = lost.slice(0, LOST_NAMED_MAX).map((name) => name.slice(0, LOST_CHARS_MAX));
  return lost.length > shown.length ? [...shown, `and ${lost.length - shown.length} more`] : shown;
}

/** The client's words for canonical fields. */
export function fieldNamesOf({ translation }: Protocol): Readonly<Record<string, string>> {
  return translation && "fieldNames" in translation ? translation.fieldNames : NO_NAMES;
}

const NO_NAMES: Readonly<Record<string, string>> = {};

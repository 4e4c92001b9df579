import type { Call } from "../core/call.ts";
import type { CanonicalRequest, Reply } from "../core/message.ts";
import { entryOf } from "./field-checks.ts";
import type { Protocol, Quirks, Target } from "./protocol.ts";
import type { Encoded, Shown, StreamWriter } from "./translation.ts";

/**
 * A call on its way to a deployment of another dialect: decoded once, encoded anew for each attempt. The two ends are of
 * one family, so that what one makes the other takes.
 */
export interface Crossing {
  /** Fields of meaning, in the client's words, that `target` cannot be told. */
  inexpressible(protocol: Protocol, target: Target): string[];
  encode(protocol: Protocol, target: Target): Encoded;
}

/** Reads a client's call for translation. Null when its dialect has no canonical form. Throws for a body that makes no sense. */
export function openCrossing(client: Protocol, call: Call): Crossing | null {
  const { translation } = client;
  if (!translation || translation.family === "count") return null;
  // Of one family with whatever `translates` has let through.
  const request = translation.toCanonical(call) as CanonicalRequest;
  const named = (field: string): string => entryOf(translation.fieldNames, field) ?? field;
  return {
    inexpressible: (protocol, target) => [...new Set(chatSide(protocol).inexpressible(request, target).map(named))],
    encode(protocol, target) {
      const encoded = chatSide(protocol).fromCanonical(request, target);
      return { ...encoded, dropped: [...new Set(encoded.dropped.map(named))] };
    },
  };
}

/** Can a call of `client`'s dialect be served by a deployment that speaks `provider`? */
export function translates(client: Protocol, provider: Protocol): boolean {
  const [from, to] = [client.translation, provider.translation];
  if (from === null || to === null || from.family !== to.family) return false;
  return to.family !== "count" && !("clientOnly" in to && to.clientOnly);
}

/** A JSON answer of one dialect in another. */
export function translateReply(
  client: Protocol,
  provider: Protocol,
  body: Buffer,
  quirks: Quirks,
  shown: Shown,
): Buffer {
  const answer: Reply = chatSide(provider).decodeReply(body, quirks);
  return chatSide(client).encodeReply(answer, shown);
}

/** Writes a stream of `client`'s dialect. */
export function writerFor(client: Protocol, shown: Shown): StreamWriter {
  const { translation } = client;
  if (!translation || !("streamWriter" in translation)) throw new Error(`${client.name} does not stream`);
  return translation.streamWriter(shown);
}

/** One family's ends fit each other whichever family it is; the types of the chat family stand for all. */
function chatSide(protocol: Protocol): ChatSide {
  if (!protocol.translation) throw new Error(`${protocol.name} does not translate`);
  return protocol.translation as unknown as ChatSide;
}

interface ChatSide {
  inexpressible(request: CanonicalRequest, target: Target): string[];
  fromCanonical(request: CanonicalRequest, target: Target): Encoded;
  decodeReply(body: Buffer, quirks: Quirks): Reply;
  encodeReply(answer: Reply, shown: Shown): Buffer;
}

import { replaceStrings, stringsAt, type Wanted } from "../json-strings.ts";
import type { Dresser } from "../protocol.ts";
import { dressId } from "./ids.ts";
import { markSealed } from "./seal.ts";

/** Strings of an item; the label is the prefix of an id that has none, or says that it is sealed content. */
const SEALED = "sealed";
const ITEM = { id: "item", encrypted_content: SEALED } as const;
/** Strings of a response object. */
const RESPONSE = {
  id: "resp",
  previous_response_id: "resp",
  conversation: { id: "conv" },
  output: [ITEM],
} as const;
/** Every id that may stand in an answer: a response, a list of items, one that was deleted. */
const REPLY: Wanted = { ...RESPONSE, data: [ITEM], first_id: "item", last_id: "item" };
const EVENT: Wanted = { response: RESPONSE, item: ITEM, item_id: "item" };

/**
 * Puts the deployment's token into every id of an answer (ruling 23) and the account's before encrypted content, so that neither
 * reaches somebody who can make nothing of it; all other bytes stay.
 */
export function idDresser(token: string, account: string): Dresser {
  return {
    reply: (body) => dressReply(body, token, account),
    event: (raw, data) => (data === null ? raw : dressEvent(raw, data, token, account)),
    end: () => null,
  };
}

/** A JSON answer with its ids dressed. */
export function dressReply(body: Buffer, token: string, account: string): Buffer {
  return Buffer.from(dressed(body.toString("latin1"), REPLY, token, account, 0), "latin1");
}

/** One event with its ids dressed. `data` is its decoded payload. */
export function dressEvent(raw: Buffer, data: string, token: string, account: string): Buffer {
  // Nothing to find: `[DONE]`, and events without ids.
  if (!data.includes('_id"') && !data.includes('"id"')) return raw;
  const text = raw.toString("latin1");
  const field = /(?:^|[\r\n])data:/.exec(text);
  if (!field) return raw;
  if (data.includes("\n")) return reframed(text, data, token, account);
  return Buffer.from(dressed(text, EVENT, token, account, field.index + field[0].length), "latin1");
}

/** An event whose JSON is spread over several data lines: written anew, since its parts do not stand together. */
function reframed(text: string, data: string, token: string, account: string): Buffer {
  const others = text.split(/\r\n|[\r\n]/).filter((line) => line !== "" && !line.startsWith("data:"));
  const changed = dressed(Buffer.from(data).toString("latin1"), EVENT, token, account, 0);
  const lines = [...others, ...changed.split("\n").map((line) => `data: ${line}`)];
  return Buffer.from(`${lines.join("\n")}\n\n`, "latin1");
}

function dressed(text: string, wanted: Wanted, token: string, account: string, at: number): string {
  return replaceStrings(text, stringsAt(text, wanted, at), (value, label) =>
    label === SEALED ? markSealed(value, account) : dressId(value, token, label),
  );
}

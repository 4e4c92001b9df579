import type { Call } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, membersIn } from "../call-members.ts";
import { isObject } from "../field-checks.ts";
import type { Edit } from "../json-members.ts";
import { elementsAt, replaceStrings, stringsAt, type Wanted } from "../json-strings.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import type { Target } from "../protocol.ts";
import { unwrapSignature } from "../signature.ts";
import { OWN_THOUGHT, providerId, undressId } from "./ids.ts";
import { readSealed } from "./seal.ts";

const DIALECT = "openai-responses";
/** Members of an input item that hold a provider's id. */
const ITEM_IDS = ["id", "approval_request_id"] as const;
const SEALED = "sealed";
const ITEM: Wanted = { id: "id", approval_request_id: "id", encrypted_content: SEALED };
const CONVERSATION: Wanted = { id: "id" };

/**
 * The client's bytes for an upstream of the same protocol: the model spliced, platform members taken out, ids without their
 * deployment's token, and thoughts left out that another dialect's provider or another account made: nobody else can read them.
 */
export function passRequest(call: Call, { model, account }: Target): Bytes {
  const { body } = call;
  const edits = new Map<string, Edit>();
  const additions: string[] = [];
  // Azure's clients may name it in the path alone.
  if (Object.hasOwn(body, "model")) edits.set("model", { value: JSON.stringify(model) });
  else additions.push(`"model":${JSON.stringify(model)}`);
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(body, key)) edits.set(key, null);
  const previous = body["previous_response_id"];
  if (typeof previous === "string") edits.set("previous_response_id", { value: JSON.stringify(providerId(previous)) });
  const conversation = body["conversation"];
  if (typeof conversation === "string") edits.set("conversation", { value: JSON.stringify(providerId(conversation)) });
  if (isObject(conversation))
    edits.set("conversation", { value: undressed(memberText(call, "conversation"), CONVERSATION) });
  const input = body["input"];
  if (Array.isArray(input) && input.some((item) => holdsDressed(item) || isForeignThought(item, account))) {
    edits.set("input", { value: passInput(memberText(call, "input"), input, account) });
  }
  return editBody(call, edits, additions);
}

/** The bytes of a top-level member, one character a byte. The last of a repeated member is the one that holds. */
function memberText(call: Call, key: string): string {
  const member = membersIn(call).findLast((candidate) => candidate.key === key);
  return member ? call.raw.toString("latin1", member.valueStart, member.valueEnd) : "null";
}

/** `latin1` text back as what it is: edits are written as UTF-8. */
function utf8(latin1: string): string {
  return Buffer.from(latin1, "latin1").toString("utf8");
}

function undressed(text: string, wanted: Wanted): string {
  return utf8(
    replaceStrings(text, stringsAt(text, wanted), (value, label) =>
      label === SEALED ? readSealed(value).value : providerId(value),
    ),
  );
}

function passInput(text: string, input: readonly unknown[], account: string | undefined): string {
  const kept = elementsAt(text, 0).filter((_, index) => !isForeignThought(input[index], account));
  return `[${kept.map(({ start, end }) => undressed(text.slice(start, end), ITEM)).join(",")}]`;
}

function holdsDressed(item: unknown): boolean {
  if (!isObject(item)) return false;
  const sealed = item["encrypted_content"];
  if (typeof sealed === "string" && readSealed(sealed).account !== null) return true;
  return ITEM_IDS.some((key) => typeof item[key] === "string" && undressId(item[key]) !== null);
}

/** A reasoning item that was made out of another dialect's thoughts, or that another account has sealed. */
function isForeignThought(item: unknown, account: string | undefined): boolean {
  if (!isObject(item) || item["type"] !== "reasoning") return false;
  if (typeof item["id"] === "string" && item["id"].startsWith(OWN_THOUGHT)) return true;
  const sealed = item["encrypted_content"];
  if (typeof sealed !== "string") return false;
  const maker = readSealed(sealed).account;
  if (maker !== null) return account !== undefined && maker !== account;
  return unwrapSignature(sealed, DIALECT).signature.dialect !== DIALECT;
}

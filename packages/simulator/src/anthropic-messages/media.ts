import { checkMembers, objectAt, stringAt, wrong } from "./refusals.ts";
import type { Tally } from "./tally.ts";

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Reads the source of an image; gives the media type of an inline one, the address of another. */
export function readImage(value: unknown, at: string): string {
  const source = objectAt(value, at);
  if (source.type === "url") return checkUrl(source.url, `${at}.url.url`);
  if (source.type === "file") return stringAt(source.file_id, `${at}.file.file_id`);
  if (source.type !== "base64") return unknownTag(source.type, ["base64", "file", "url"], at);
  checkMembers(source, ["type", "media_type", "data"], `${at}.base64`);
  const type = stringAt(source.media_type, `${at}.base64.media_type`);
  if (!IMAGE_TYPES.includes(type)) {
    wrong(`${at}.base64.media_type`, "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'");
  }
  checkBase64(source.data, `${at}.base64.data`);
  return type;
}

/** Reads the source of a document; the text of one that is text is counted. */
export function readDocument(value: unknown, at: string, tally: Tally): void {
  const source = objectAt(value, at);
  if (source.type === "base64") {
    if (source.media_type !== "application/pdf") {
      wrong(`${at}.base64.media_type`, "Input should be 'application/pdf'");
    }
    checkBase64(source.data, `${at}.base64.data`);
    tally.media();
  } else if (source.type === "text") {
    if (source.media_type !== "text/plain") wrong(`${at}.text.media_type`, "Input should be 'text/plain'");
    tally.text(stringAt(source.data, `${at}.text.data`));
  } else if (source.type === "url") {
    checkUrl(source.url, `${at}.url.url`);
    tally.media();
  } else if (source.type === "file" || source.type === "content") {
    tally.media();
  } else {
    unknownTag(source.type, ["base64", "content", "file", "text", "url"], at);
  }
}

/** 400: the `type` of a member is none of those it may be. */
export function unknownTag(type: unknown, known: readonly string[], at: string): never {
  if (type === undefined) wrong(`${at}.type`, "Field required");
  const tags = known.map((tag) => `'${tag}'`).join(", ");
  return wrong(at, `Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`);
}

function checkUrl(value: unknown, at: string): string {
  const url = stringAt(value, at);
  return /^https?:\/\//.test(url) ? url : wrong(at, "Only HTTP(S) URLs are supported.");
}

function checkBase64(value: unknown, at: string): void {
  const data = stringAt(value, at);
  if (data === "") wrong(at, "image cannot be empty");
  if (data.length % 4 !== 0 || !BASE64.test(data)) wrong(at, "invalid base64 data");
}

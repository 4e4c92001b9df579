import type { Annotation } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { pushAll } from "../push-all.ts";
import { DIALECT, pick, pickList, pickObject, pickString } from "./fields.ts";

/** Members that stand beside a candidate's content and that only Google has. */
const BESIDE = ["groundingMetadata", "citationMetadata", "urlContextMetadata"] as const;

/**
 * What stands beside a candidate's text: sources as `url_citation`, and all of it once more as an opaque annotation for
 * whoever speaks the dialect. Google counts in bytes of UTF-8; `ascii` says that these are characters too, otherwise the
 * places are left out.
 */
export function readAnnotations(candidate: Fields, ascii: boolean): Annotation[] {
  const found: Annotation[] = [];
  const opaque: Fields = {};
  for (const name of BESIDE) {
    const value = pickObject(candidate, name);
    if (!value || Object.keys(value).length === 0) continue;
    opaque[name] = value;
    if (name === "groundingMetadata") pushAll(found, groundingCitations(value, ascii));
    if (name === "citationMetadata") pushAll(found, plainCitations(value, ascii));
  }
  if (Object.keys(opaque).length > 0) found.push({ type: "opaque", dialect: DIALECT, value: opaque });
  return found;
}

/** Is this opaque value something that stands beside the content, rather than a part of it? */
export function standsBeside(value: unknown): value is Fields {
  return isObject(value) && BESIDE.some((name) => Object.hasOwn(value, name));
}

interface Web {
  url: string;
  title: string | null;
}

/** Every support names the chunks it rests on; a chunk that supports nothing in particular is cited as a whole. */
function groundingCitations(metadata: Fields, ascii: boolean): Annotation[] {
  const chunks = pickList(metadata, "groundingChunks").map(webOf);
  const cited = new Set<number>();
  const found: Annotation[] = [];
  for (const support of pickList(metadata, "groundingSupports")) {
    if (!isObject(support)) continue;
    const segment = pickObject(support, "segment") ?? {};
    const { start, end } = span(segment, ascii);
    for (const index of pickList(support, "groundingChunkIndices")) {
      const web = typeof index === "number" ? chunks[index] : null;
      if (!web) continue;
      cited.add(index as number);
      found.push({ type: "url_citation", ...web, start, end });
    }
  }
  chunks.forEach((web, index) => {
    if (web && !cited.has(index)) found.push({ type: "url_citation", ...web, start: null, end: null });
  });
  return found;
}

function webOf(chunk: unknown): Web | null {
  if (!isObject(chunk)) return null;
  const from = pickObject(chunk, "web") ?? pickObject(chunk, "retrievedContext") ?? pickObject(chunk, "maps");
  const url = from && pickString(from, "uri");
  return url ? { url, title: pickString(from, "title") ?? null } : null;
}

function plainCitations(metadata: Fields, ascii: boolean): Annotation[] {
  const list = [...pickList(metadata, "citationSources"), ...pickList(metadata, "citations")];
  return list.flatMap((source): Annotation[] => {
    const url = isObject(source) ? pickString(source, "uri") : undefined;
    if (!isObject(source) || url === undefined) return [];
    return [{ type: "url_citation", url, title: pickString(source, "title") ?? null, ...span(source, ascii) }];
  });
}

/** A start of zero is left out on the wire. */
function span(from: Fields, ascii: boolean): { start: number | null; end: number | null } {
  const end = pick(from, "endIndex");
  if (!ascii || typeof end !== "number") return { start: null, end: null };
  const start = pick(from, "startIndex");
  return { start: typeof start === "number" ? start : 0, end };
}

/**
 * Sources another dialect cited, as `groundingMetadata`; undefined for none. `bytes` tells how many bytes of UTF-8 the first
 * characters of the text take; null: nobody knows, and places are left out.
 */
export function writeGrounding(
  annotations: readonly Annotation[],
  bytes: ((chars: number) => number) | null,
): Fields | undefined {
  const chunks: Fields[] = [];
  const supports: Fields[] = [];
  const known = new Map<string, number>();
  for (const annotation of annotations) {
    if (annotation.type !== "url_citation") continue;
    const { url, title, start, end } = annotation;
    let index = known.get(url);
    if (index === undefined) {
      index = chunks.length;
      known.set(url, index);
      chunks.push({ web: { uri: url, ...(title !== null && { title }) } });
    }
    if (start === null || end === null || !bytes) continue;
    supports.push({ segment: { startIndex: bytes(start), endIndex: bytes(end) }, groundingChunkIndices: [index] });
  }
  if (chunks.length === 0) return undefined;
  return { groundingChunks: chunks, ...(supports.length > 0 && { groundingSupports: supports }) };
}

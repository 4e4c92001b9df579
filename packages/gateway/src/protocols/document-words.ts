import type { DocumentBlock, MediaSource } from "../core/message.ts";
import { entryOf } from "./field-checks.ts";

/** Providers want a name with every file; its ending says the type to some. */
const ENDINGS: Readonly<Record<string, string>> = {
  "application/pdf": ".pdf",
  "application/json": ".json",
  "text/plain": ".txt",
  "text/markdown": ".md",
  "text/csv": ".csv",
  "text/html": ".html",
};
const READABLE = /^(?:text\/|application\/json\b)/i;

/** A document as words of a message: its title, what was noted about it, its text. */
export function documentWords({ title, context }: Pick<DocumentBlock, "title" | "context">, text: string): string {
  return [title, context, text].filter((piece) => piece !== undefined && piece !== "").join("\n\n");
}

/** The text of a document that is one: given as text, or as the bytes of a text file. Null for any other. */
export function documentText(source: DocumentBlock["source"]): string | null {
  if (source.kind === "text") return source.text;
  if (source.kind !== "base64" || !READABLE.test(source.mediaType)) return null;
  return Buffer.from(source.data, "base64").toString("utf8");
}

/** The name of a file: its title, or one that tells the type of its bytes. */
export function documentName(title: string | undefined, source: MediaSource): string {
  const [mediaType = ""] = (source.kind === "file" ? "" : (source.mediaType ?? "application/pdf")).split(";");
  return title ?? `document${entryOf(ENDINGS, mediaType.toLowerCase()) ?? ""}`;
}

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { BOUNDS } from "../bounds.ts";
import { type CatalogueData, catalogueSchema } from "./schema.ts";

/** Where the catalogue of a data dir is, which goes over the one that ships. */
export function catalogueFile(dataDir: string): string {
  return join(dataDir, "catalogue.json");
}

/** A catalogue from a file, or what is wrong with it, one line a fault. */
export type CatalogueRead = { data: CatalogueData } | { faults: string[] };

/** Reads a catalogue; null when there is no such file. */
export async function readCatalogue(file: string): Promise<(CatalogueRead & { text: string }) | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR"
      ? null
      : { faults: [`cannot be read (${code ?? "unknown"})`], text: "" };
  }
  return { ...parseCatalogue(text), text };
}

/** Checks the text of a catalogue. */
export function parseCatalogue(text: string): CatalogueRead {
  if (Buffer.byteLength(text) > BOUNDS.catalogueBytesMax) {
    return { faults: [`is larger than ${BOUNDS.catalogueBytesMax / 2 ** 20} MiB`] };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { faults: [`is no JSON: ${error instanceof Error ? error.message : String(error)}`] };
  }
  const read = catalogueSchema.safeParse(value);
  return read.success ? { data: read.data } : { faults: read.error.issues.map(wordsOf) };
}

function wordsOf({ path, message }: z.core.$ZodIssue): string {
  const at = path.reduce<string>(
    (shown, part) => (typeof part === "number" ? `${shown}[${part}]` : `${shown}${shown ? "." : ""}${String(part)}`),
    "",
  );
  return at === "" ? message : `${at}: ${message}`;
}

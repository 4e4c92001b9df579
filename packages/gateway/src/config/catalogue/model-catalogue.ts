import type { Capability } from "../../core/call.ts";
import type { ProviderConfig } from "../snapshot.ts";
import { isVendorNamed } from "../vendor-named.ts";
import { bookWindow } from "./book-window.ts";
import { bareName, undated } from "./model-name.ts";
import { MODELS } from "./models.ts";
import { RETIREMENTS } from "./retirements.ts";
import type { CatalogueData, CatalogueModel, Retirement } from "./schema.ts";
import { SOURCES } from "./sources.ts";

/** What is known of a model as one provider serves it. */
export interface ModelFacts {
  /** The name it is shown by. */
  id: string;
  /** Null: not known, and everything is let through. */
  capabilities: readonly Capability[] | null;
  /** Tokens of input and output together; null: not known. */
  contextWindow: number | null;
  maxOutputTokens: number | null;
  modalities: CatalogueModel["modalities"] | null;
  /** Its entry in the price book, `provider/model`. */
  book: string | null;
  /** When this provider's stops answering, and since when that is known (epoch ms); null: no day is published. */
  retires: RetirementDay | null;
  sources: readonly { url: string; read: string }[];
}

/** The end of a model, epoch ms. */
export interface RetirementDay {
  atMs: number;
  /** When it was announced; null: not known. */
  announcedMs: number | null;
}

/** What there is to know about models by their names. */
export interface ModelCatalogue {
  /** The day on which it was last gone through. */
  updated: string;
  /** A model as a provider serves it; null: unknown, and so is all about servers of one's own, whose names are theirs to give. */
  find(provider: Pick<ProviderConfig, "kind" | "preset">, model: string): ModelFacts | null;
  /** Everything in it, by the names shown. */
  list(): ModelFacts[];
}

/** What ships. */
export const SHIPPED: CatalogueData = {
  updated: "2026-11-30",
  sources: SOURCES,
  models: MODELS,
  retirements: RETIREMENTS,
};

/** A catalogue to look things up in; of several, the later go over the earlier: name by name, entry by entry. */
export function modelCatalogue(...layers: CatalogueData[]): ModelCatalogue {
  const index = indexOf(layers);
  const factsOf = (entry: Entry, name: string | null, on: readonly string[]): ModelFacts => ({
    id: idOf(entry.model),
    capabilities: entry.model.capabilities ?? null,
    contextWindow: entry.model.context_window ?? windowInBook(entry.model.book),
    maxOutputTokens: entry.model.max_output ?? null,
    modalities: entry.model.modalities ?? null,
    book: entry.model.book ?? null,
    retires: name === null ? null : index.retirement(name, on),
    sources: entry.model.sources.flatMap((source) => entry.sources[source] ?? []),
  });
  return {
    updated:
      layers
        .map(({ updated }) => updated)
        .sort()
        .at(-1) ?? "",
    find(provider, model) {
      if (!isVendorNamed(provider)) return null;
      const name = bareName(model);
      const entry = index.model(name);
      const on = [provider.kind, ...(provider.preset === null ? [] : [provider.preset])];
      if (entry) return factsOf(entry, name, on);
      const retires = index.retirement(name, on);
      return retires && { ...NOTHING, id: name, retires };
    },
    list: () => index.entries.map((entry) => factsOf(entry, null, [])),
  };
}

const NOTHING: Omit<ModelFacts, "id"> = {
  capabilities: null,
  contextWindow: null,
  maxOutputTokens: null,
  modalities: null,
  book: null,
  retires: null,
  sources: [],
};

/** A model with what its own layer names as sources. */
interface Entry {
  model: CatalogueModel;
  sources: CatalogueData["sources"];
}

interface Index {
  entries: Entry[];
  model(name: string): Entry | null;
  retirement(name: string, on: readonly string[]): RetirementDay | null;
}

function indexOf(layers: readonly CatalogueData[]): Index {
  const exact = new Map<string, Entry>();
  const prefixes = new Map<string, Entry>();
  for (const { models, sources } of layers)
    for (const model of models)
      for (const name of model.names) {
        if (name.endsWith("*")) prefixes.set(name.slice(0, -1), { model, sources });
        else exact.set(name, { model, sources });
      }
  // The longest prefix says the most about a name.
  const longest = [...prefixes].sort(([a], [b]) => b.length - a.length);
  const byPrefix = (name: string): Entry | null => longest.find(([prefix]) => name.startsWith(prefix))?.[1] ?? null;
  const ends = layers.toReversed().flatMap(({ retirements }) => retirements);
  const seen = new Map([...prefixes.values(), ...exact.values()].map((entry) => [entry.model, entry]));
  return {
    entries: [...seen.values()].sort((a, b) => idOf(a.model).localeCompare(idOf(b.model))),
    model: (name) => exact.get(name) ?? exact.get(undated(name) ?? "") ?? byPrefix(name),
    retirement(name, on) {
      const end = ends.find((each) => on.includes(each.on) && each.names.some((named) => isNamed(name, named)));
      return end ? dayOf(end) : null;
    },
  };
}

/** Days are published for names as they are sent: another snapshot of the same model may live longer. */
function isNamed(name: string, named: string): boolean {
  return named.endsWith("*") ? name.startsWith(named.slice(0, -1)) : name === named;
}

function dayOf({ date, announced }: Retirement): RetirementDay {
  return { atMs: Date.parse(date), announcedMs: announced === undefined ? null : Date.parse(announced) };
}

function idOf(model: CatalogueModel): string {
  return (model.names[0] ?? "").replace(/-?\*$/, "");
}

function windowInBook(book: string | undefined): number | null {
  if (book === undefined) return null;
  const slash = book.indexOf("/");
  return bookWindow(book.slice(0, slash), book.slice(slash + 1));
}

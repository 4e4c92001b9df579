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
  /** Its own name, without what vendors put around it. */
  id: string;
  /** Null: not known, and everything is let through. */
  capabilities: readonly Capability[] | null;
  /** Tokens of input and output together; null: not known. */
  contextWindow: number | null;
  maxOutputTokens: number | null;
  modalities: CatalogueModel["modalities"] | null;
  /** Its entry in the price book, or that of a model like it: `provider/model`. */
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
  /** Everything in it, name by name. */
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
  const factsOf = (model: CatalogueModel, name: string, retires: RetirementDay | null): ModelFacts => ({
    id: name,
    capabilities: model.capabilities ?? null,
    contextWindow: model.context_window ?? windowInBook(model.book, name),
    maxOutputTokens: model.max_output ?? null,
    modalities: model.modalities ?? null,
    book: model.book ?? null,
    retires,
    sources: model.sources.flatMap((source) => index.sources(model)[source] ?? []),
  });
  return {
    updated:
      layers
        .map(({ updated }) => updated)
        .toSorted()
        .at(-1) ?? "",
    find(provider, model) {
      if (!isVendorNamed(provider)) return null;
      const name = bareName(model);
      const retires = index.retirement(name, [provider.kind, ...(provider.preset === null ? [] : [provider.preset])]);
      const found = index.model(name);
      if (found) return factsOf(found, name, retires);
      return retires && { ...NOTHING, id: name, retires };
    },
    list: () => index.names.map(([name, model]) => factsOf(model, name, index.retirement(name, makersOf(model)))),
  };
}

/** Where a model's maker serves it: what it is listed with. */
function makersOf({ book }: CatalogueModel): string[] {
  const maker = book?.slice(0, book.indexOf("/")) ?? "";
  return maker === "google" ? ["gemini"] : [maker];
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

interface Index {
  /** Every name, a `*` at its end where it is the beginning of many, in alphabetical order. */
  names: (readonly [string, CatalogueModel])[];
  model(name: string): CatalogueModel | null;
  /** What the layer a model is from names as sources. */
  sources(model: CatalogueModel): CatalogueData["sources"];
  retirement(name: string, on: readonly string[]): RetirementDay | null;
}

function indexOf(layers: readonly CatalogueData[]): Index {
  const named = new Map<string, CatalogueModel>();
  const sources = new Map<CatalogueModel, CatalogueData["sources"]>();
  for (const layer of layers)
    for (const model of layer.models) {
      sources.set(model, layer.sources);
      for (const name of model.names) named.set(name, model);
    }
  // The longest beginning says the most about a name.
  const beginnings = [...named]
    .flatMap(([name, model]) => (name.endsWith("*") ? [[name.slice(0, -1), model] as const] : []))
    .sort(([a], [b]) => b.length - a.length);
  const begun = (name: string): CatalogueModel | null =>
    beginnings.find(([beginning]) => name.startsWith(beginning))?.[1] ?? null;
  const ends = layers.toReversed().flatMap(({ retirements }) => retirements);
  return {
    names: [...named].sort(([a], [b]) => a.localeCompare(b)),
    model: (name) => named.get(name) ?? named.get(undated(name) ?? "") ?? begun(name),
    sources: (model) => sources.get(model) ?? {},
    retirement(name, on) {
      const end = ends.find((each) => on.includes(each.on) && each.names.some((ended) => isNamed(name, ended)));
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

/** The model's own in its maker's part of the book, or that of the one it is listed with. */
function windowInBook(book: string | undefined, name: string): number | null {
  if (book === undefined) return null;
  const slash = book.indexOf("/");
  const maker = book.slice(0, slash);
  return bookWindow(maker, name) ?? bookWindow(maker, book.slice(slash + 1));
}

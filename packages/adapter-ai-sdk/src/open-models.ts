import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { EmbeddingModelV2, LanguageModelV2 } from "@ai-sdk/provider";
import { findPackage } from "./find-package.ts";

/** The models of one provider, by their names there. */
export interface Models {
  /** Throws for a name the package refuses, and for a model of a version of the SDK that is not spoken here. */
  language(id: string): LanguageModelV2;
  /** The same; throws as well where the package has no embeddings. */
  embedding(id: string): EmbeddingModelV2<string>;
}

type Members = Record<string, unknown>;
type Make = (argument: unknown) => unknown;

/** Versions of the SDK's interface whose models can be called: those of AI SDK 5 and 6. */
const VERSIONS = ["v2", "v3"];

/**
 * Imports a provider package, as seen from `folder`, and makes a provider with `options`. `exportName`: the function that
 * makes it, where the package has not exactly one that is called `create…`. Throws for what is not there.
 */
export async function openModels(
  packageName: string,
  exportName: string | null,
  options: Readonly<Record<string, unknown>>,
  folder: string,
): Promise<Models> {
  const file = findPackage(packageName, folder);
  if (file === null) throw new Error(notInstalled(packageName));
  const loaded = (await import(pathToFileURL(file).href)) as Members;
  const provider = factoryOf(loaded, packageName, exportName)(structuredClone(options));
  return {
    language: (id) => made<LanguageModelV2>(provider, ["languageModel"], id, packageName),
    embedding: (id) =>
      made<EmbeddingModelV2<string>>(provider, ["textEmbeddingModel", "embeddingModel"], id, packageName),
  };
}

/**
 * What is wrong with a package, as seen from `folder`, or with the name of what makes its provider; null: nothing. Loads the
 * package, makes nothing with it. One that can only be imported asynchronously (top-level await) is taken at its word.
 */
export function packageFault(packageName: string, exportName: string | null, folder: string): string | null {
  const file = findPackage(packageName, folder);
  if (file === null) return notInstalled(packageName);
  let loaded: Members;
  try {
    loaded = createRequire(file)(file) as Members;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_REQUIRE_ASYNC_MODULE") return null;
    const [reason] = String(error instanceof Error ? error.message : error).split("\n");
    return `the package ${packageName} cannot be loaded: ${reason}`;
  }
  try {
    factoryOf(loaded, packageName, exportName);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function notInstalled(packageName: string): string {
  return `the package ${packageName} is not installed: npm install ${packageName}`;
}

function factoryOf(loaded: Members, packageName: string, exportName: string | null): Make {
  // What is CommonJS may have all of it in `default`.
  const inner = loaded["default"];
  const all: Members = { ...(typeof inner === "object" ? (inner as Members) : {}), ...loaded };
  if (exportName !== null) {
    const named = all[exportName];
    if (typeof named === "function") return named as Make;
    throw new Error(`the package ${packageName} exports no function ${exportName}`);
  }
  const names = Object.keys(all).filter((name) => /^create[A-Z]/.test(name) && typeof all[name] === "function");
  const [only] = names;
  if (only !== undefined && names.length === 1) return all[only] as Make;
  const found = names.length === 0 ? "no function create…" : names.join(", ");
  throw new Error(`the package ${packageName} exports ${found}: name one with \`export\``);
}

function made<Model extends { specificationVersion: string }>(
  provider: unknown,
  methods: readonly string[],
  id: string,
  packageName: string,
): Model {
  const from = (provider ?? {}) as Record<string, Make | undefined>;
  const method = methods.find((name) => typeof from[name] === "function");
  if (method === undefined) throw new Error(`the package ${packageName} has no ${methods[0]}`);
  const model = from[method]?.(id) as Model;
  if (VERSIONS.includes(model.specificationVersion)) return model;
  throw new Error(
    `the package ${packageName} is of specification ${model.specificationVersion}; known are ${VERSIONS.join(", ")}`,
  );
}

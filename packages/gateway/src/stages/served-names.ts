import type { Deployment } from "../config/snapshot.ts";
import { utf8AsLatin1 } from "../core/latin1-text.ts";
import { LIMITS } from "../core/limits.ts";

/** The names that an answer tells of who served it, fit to be sent. */
export interface ServedNames {
  /** As they are. */
  alias: string;
  model: string;
  /** As header values. */
  aliasHeader: string;
  deploymentHeader: string;
  providerHeader: string;
  modelHeader: string;
  /** `"provider":…,"deployment":…,"model":…` in text of Latin-1, a byte a character. */
  json: string;
}

/** Made once for the answers of a deployment: the latest few by alias and model. */
const MADE = new WeakMap<object, ServedNames[]>();

/** The names of an answer in their texts. */
export function servedNames(
  deployment: Pick<Deployment, "name" | "provider">,
  alias: string,
  model: string,
): ServedNames {
  const made = MADE.get(deployment);
  if (made) for (const names of made) if (names.alias === alias && names.model === model) return names;
  const names = namesOf(deployment, alias, model);
  if (names.alias.length + names.model.length > 2 * LIMITS.labelCharsMax) return names;
  if (!made) MADE.set(deployment, [names]);
  else {
    if (made.length >= LIMITS.servedNamesMax) made.shift();
    made.push(names);
  }
  return names;
}

function namesOf({ name, provider }: Pick<Deployment, "name" | "provider">, alias: string, model: string): ServedNames {
  const json = utf8AsLatin1(JSON.stringify({ provider, deployment: name, model }).slice(1, -1));
  // Copies: a string that was cut from a body holds on to all of it.
  const [aliasCopy, modelCopy] = JSON.parse(JSON.stringify([alias, model])) as [string, string];
  return {
    alias: aliasCopy,
    model: modelCopy,
    aliasHeader: headerSafe(aliasCopy),
    deploymentHeader: headerSafe(name),
    providerHeader: headerSafe(provider),
    modelHeader: headerSafe(modelCopy),
    json,
  };
}

/** Names of models, aliases and fields may hold anything, half a character too; a header may not. */
export function headerSafe(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"));
}

import { didYouMean } from "../nearest.ts";

/** The names that chains and permissions may mean. Names that are broken or left out count: they are told elsewhere. */
export interface ModelNames {
  providers: ReadonlySet<string>;
  deployments: ReadonlySet<string>;
  aliases: ReadonlySet<string>;
}

/** What a name in a permission means. */
export type Permission =
  | { kind: "every alias" }
  | { kind: "alias"; alias: string }
  | { kind: "deployment"; deployment: string }
  | { kind: "raw"; provider: string };

/** `provider/model` cut at its first slash; null without one. */
export function splitRaw(name: string): { provider: string; model: string } | null {
  const slash = name.indexOf("/");
  return slash === -1 ? null : { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

/**
 * What an entry of `allow` or `deny` means: `*`, an alias, `provider/model`, `provider/*` (`*` is a whole last segment)
 * or `deployment:NAME`; or what is wrong with it.
 */
export function readPermission(written: string, names: ModelNames): Permission | { fault: string } {
  if (written === "*") return { kind: "every alias" };
  if (written.startsWith("deployment:")) {
    const deployment = written.slice("deployment:".length);
    if (names.deployments.has(deployment)) return { kind: "deployment", deployment };
    return { fault: `unknown deployment \`${deployment}\`${didYouMean(deployment, names.deployments)}` };
  }
  if (names.aliases.has(written)) return { kind: "alias", alias: written };
  const raw = splitRaw(written);
  if (raw) {
    if (raw.model === "" || /\*/.test(written.replace(/\/\*$/, ""))) {
      return { fault: `\`${written}\` is no pattern: write \`provider/model\` or \`provider/*\`` };
    }
    if (names.providers.has(raw.provider)) return { kind: "raw", provider: raw.provider };
    return { fault: `unknown provider \`${raw.provider}\`${didYouMean(raw.provider, names.providers)}` };
  }
  if (written.includes("*"))
    return { fault: `\`${written}\` is no pattern: \`*\` stands alone, or ends \`provider/*\`` };
  if (names.deployments.has(written)) {
    return { fault: `\`${written}\` is a deployment, not an alias; write \`deployment:${written}\`` };
  }
  return { fault: `unknown alias \`${written}\`${didYouMean(written, names.aliases)}` };
}

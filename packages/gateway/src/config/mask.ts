import type { Path } from "./problems.ts";
import { type ConfigNode, type ScalarNode, scalarsOf } from "./yaml/node.ts";

/** Keys that hold secrets, wherever they stand. */
const SECRET_KEY = /^(api_key|key|password|token|secret|client_secret|credentials)$/;
/** The same in a line that could not be parsed: a key that sounds secret and a value that is neither reference nor hash. */
const SECRET_LINE =
  /((?:[\w-]*(?:key|token|secret|password|authorization)[\w-]*)["']?\s*:\s*)(?!\s*["']?(?:env:|file:|vault:|aws-sm:|gcp-sm:|sha256:|\$\{))("[^"]*"?|'[^']*'?|[^\s,}\]{[][^,}\]]*)/gi;
/** Shorter ones are no secrets, and hiding them would hide the text around them. */
const SECRET_CHARS_MIN = 3;

/** Hides literal secrets in a line of the config before it is shown. Takes the parsed config where there is one. */
export function secretMask(root: ConfigNode | null): (line: string) => string {
  const secrets = root === null ? [] : literalSecrets(root);
  return (line) => {
    let masked = line;
    for (const secret of secrets) masked = masked.replaceAll(secret, "***");
    return masked.replace(SECRET_LINE, "$1***");
  };
}

function literalSecrets(root: ConfigNode): string[] {
  const secrets: string[] = [];
  for (const { node, path } of scalarsOf(root)) {
    const isSecret =
      SECRET_KEY.test(String(path.at(-1))) ||
      path.at(-2) === "headers" ||
      isOfTenant(path) ||
      isOption(path) ||
      isAddress(path) ||
      (path[0] === "state" && String(node.value).includes("@"));
    if (isSecret && isLiteral(node)) secrets.push(...String(node.value).split("\n"), ...node.raw.split("\n"));
  }
  const trimmed = secrets.map((secret) => secret.trim()).filter((secret) => secret.length >= SECRET_CHARS_MIN);
  return [...new Set(trimmed)].sort((a, b) => b.length - a.length);
}

/** `tenants.x.credentials.openai`: the key is a provider's name, and the value a credential. */
function isOfTenant(path: Path): boolean {
  return path[0] === "tenants" && path[2] === "credentials";
}

/** Options of packages spell as they like. */
function isOption(path: Path): boolean {
  return path[0] === "providers" && path[2] === "options" && /key|token|secret|password/i.test(String(path.at(-1)));
}

/** Addresses in which a token may stand. */
function isAddress(path: Path): boolean {
  const [section, second, last] = path;
  return (section === "alerts" && last === "url") || (section === "gateway" && second === "gate" && last === "webhook");
}

function isLiteral(node: ScalarNode): boolean {
  return node.origin === null && node.missing === null;
}

import type { VaultServer } from "./vault-server.ts";

/** A config whose provider `up` has its key in Vault, besides what `more` says. */
export function keyedConfig(
  upstreamUrl: string,
  more: { gateway?: string; tenants?: string; keys?: string } = {},
): string {
  return [
    `gateway: { ${more.gateway ?? ""} }`,
    `providers: { up: { kind: openai, base_url: '${upstreamUrl}/v1', api_key: 'vault:secret/data/llm#openai' } }`,
    "deployments: { main: { provider: up, model: gpt-4o-2024-11-20 } }",
    "routes: { default: { chain: [main] } }",
    "tenants:",
    "  default: { models: { allow: ['*'] } }",
    more.tenants ?? "",
    "keys:",
    "  - { id: test, hash: 'KEYHASH', tenant: default }",
    more.keys ?? "",
  ].join("\n");
}

/** The variables that lead to a Vault. */
export function vaultVariables(vault: VaultServer): Record<string, string> {
  return { VAULT_ADDR: vault.url, VAULT_TOKEN: "root" };
}

// What `npm run soak` runs the gateway with: the parts that keep something per request, caller, session or deployment.
import { createHash } from "node:crypto";
import { ADMIN_KEY, CALLERS } from "./soak-requests.mjs";

/** The gateway's config as YAML; all deployments are one upstream. */
export function soakConfig(port, upstreamPort) {
  return `gateway:
  listen: 127.0.0.1:${port}
providers:
  upstream:
    kind: openai-compatible
    base_url: http://127.0.0.1:${upstreamPort}/v1
    api_key: bench-upstream-key
    pool: { connections: 512 }
deployments:
  first: { provider: upstream, model: bench-model-2026-01-01, price: { input: 2.5, cached_input: 1.25, output: 10 } }
  second:
    provider: upstream
    model: bench-model-2025-01-01
    price: { input: 2.5, output: 10 }
    limits: { rpm: 100000, tpm: 100000000, concurrency: 400 }
  broken: { provider: upstream, model: bench-model-broken, price: { input: 1, output: 2 }, breaker: { recovery: 10s } }
routes:
  plain: { chain: [first, second] }
  limited: { chain: [second, first], affinity: session }
  faulty: { chain: [broken] }
  gone: { chain: [first, second] }
tenants:
  bench: { models: { allow: "*" } }
keys:
${CALLERS.map(({ id, key }) => `  - { id: ${id}, hash: "${hashOf(key)}", tenant: bench }`).join("\n")}
admin: { keys: [{ hash: "${hashOf(ADMIN_KEY)}", role: viewer }] }
`;
}

function hashOf(key) {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

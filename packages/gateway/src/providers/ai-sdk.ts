import { type Models, openModels, packageFault } from "@sluicegate/adapter-ai-sdk";
import type { ProviderConfig } from "../config/snapshot.ts";
import { Secret } from "../core/secret.ts";
import { aiSdkChat } from "../protocols/ai-sdk/index.ts";
import { aiSdkEmbeddings } from "../protocols/ai-sdk-embeddings/index.ts";
import type { Authenticator } from "./authenticator.ts";
import { LocalCall } from "./local-call.ts";
import type { Provider } from "./provider.ts";

/**
 * A Vercel AI SDK provider package, called inside the process. Throws where the package does not have what makes its
 * provider; the provider itself is made by the first call.
 */
export function aiSdk(config: ProviderConfig): Provider {
  const { aiSdk: told, name } = config;
  if (!told) throw new Error(`provider ${name} names no package`);
  const fault = packageFault(told.package, told.export, told.folder);
  if (fault !== null) throw new Error(`provider ${name}: ${fault}`);
  let opened: Promise<Models> | null = null;
  const models = (): Promise<Models> => {
    opened ??= openModels(told.package, told.export, revealed(told.options) as Record<string, unknown>, told.folder);
    return opened;
  };
  const use = { name, generation: 1, owner: "shared" } as const;
  const authenticator: Authenticator = {
    current: use,
    authenticate: () => ({ headers: [], use }),
    refused: () => {},
    close: () => {},
  };
  return {
    config,
    quirks: { maxTokensField: null, streamOptions: false, reasoningInOutput: true },
    authenticator,
    protocols: [aiSdkChat, aiSdkEmbeddings],
    request({ call, protocol, deployment, crossing, pool, header }) {
      const { sentAs, model, maxOutputTokens } = deployment;
      const quirks = this.quirks;
      const encoded = crossing?.encode(protocol, { model: sentAs ?? model, traitsOf: model, quirks, maxOutputTokens });
      if (!encoded) throw new Error("no client speaks to a package");
      const headers: Record<string, string> = {};
      for (const [key, value] of Object.entries(config.headers)) headers[key] = value.reveal();
      for (const key of config.forwardHeaders) {
        const value = header(key);
        if (value !== undefined) headers[key] = value;
      }
      const { body } = encoded;
      return {
        credential: { use },
        dropped: encoded.dropped,
        request: {
          origin: "local:",
          method: "POST",
          path: protocol.upstreamPath(call, model),
          headers: [],
          body,
          connectTimeoutMs: deployment.timeouts.connectMs,
          pool: { key: pool, connections: config.connections },
          local: (sink) => new LocalCall(models, { body, headers, operation: protocol.operation }, sink),
        },
      };
    },
  };
}

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, revealed(each)]));
}

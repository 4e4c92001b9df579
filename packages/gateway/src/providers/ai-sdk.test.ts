import { expect, test } from "vitest";
import type { ProviderConfig } from "../config/snapshot.ts";
import { aiSdk } from "./ai-sdk.ts";

const CONFIG: ProviderConfig = {
  ...{ name: "sdk", kind: "ai-sdk", preset: null, baseUrl: null, apiKey: null, auth: null },
  ...{ headers: {}, forwardHeaders: [], connections: 1, tls: null, proxy: null },
};

function built(name: string, exportName: string | null): unknown {
  const aiSdkConfig = { package: name, export: exportName, options: {}, folder: import.meta.dirname };
  return aiSdk({ ...CONFIG, aiSdk: aiSdkConfig });
}

test("a package that has no such function is refused when the provider is made, not when it is called", () => {
  expect(() => built("@ai-sdk/openai", "createNothing")).toThrow(
    "provider sdk: the package @ai-sdk/openai exports no function createNothing",
  );
  expect(() => built("@ai-sdk/nowhere", null)).toThrow("npm install @ai-sdk/nowhere");
  expect(built("@ai-sdk/openai", "createOpenAI")).toMatchObject({ config: { name: "sdk" } });
});

import { expect, test } from "vitest";
import { configJsonSchema, configJsonSchemaText } from "./json-schema.ts";

test("sluicegate.schema.json is what the schemas say (vitest -u writes it)", async () => {
  await expect(configJsonSchemaText()).toMatchFileSnapshot("../../sluicegate.schema.json");
});

test("every key has a description, and every map says which keys it has", () => {
  const bare: string[] = [];
  const open: string[] = [];
  const visit = (schema: Record<string, unknown>, path: string): void => {
    if (typeof schema["description"] !== "string") bare.push(path);
    if (schema["type"] === "object" && schema["additionalProperties"] === undefined) open.push(path);
    for (const [key, value] of Object.entries((schema["properties"] as Record<string, never>) ?? {})) {
      visit(value, `${path}.${key}`);
    }
    for (const key of ["items", "additionalProperties"]) {
      const below = schema[key];
      if (typeof below === "object" && below !== null) visit(below as Record<string, unknown>, `${path}.${key}`);
    }
  };
  visit(configJsonSchema(), "");
  expect(bare).toEqual([]);
  expect(open).toEqual([]);
});

test("defaults are shown as they are written", () => {
  const { properties } = configJsonSchema() as { properties: Record<string, { properties: Record<string, unknown> }> };
  expect(properties["gateway"]?.properties).toMatchObject({
    listen: { default: "127.0.0.1:8080" },
    body_limit: { default: "32MiB", type: "string" },
    drain_timeout: { default: "30s" },
    expose: { default: "full", enum: ["full", "minimal"] },
  });
});

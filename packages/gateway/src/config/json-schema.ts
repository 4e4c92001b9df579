import { z } from "zod";
import { configSchema } from "./schema/config.ts";

/** JSON schema of the config file, for editors (`# yaml-language-server: $schema=./sluicegate.schema.json`). */
export function configJsonSchema(): Record<string, unknown> {
  // Draft 7 is what YAML editors understand best.
  const schema = z.toJSONSchema(configSchema, { target: "draft-7", io: "input", reused: "inline" });
  return { ...schema, title: "sluicegate.yaml" };
}

/** The same as the text of `sluicegate.schema.json`. */
export function configJsonSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}

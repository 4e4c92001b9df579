const NODES_MAX = 5000;
const DEPTH_MAX = 24;
const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-01",
  time: "00:00:00Z",
  "date-time": "2026-01-01T00:00:00Z",
  email: "a@example.com",
  uuid: "00000000-0000-4000-8000-000000000000",
  uri: "https://example.com",
  ipv4: "192.0.2.1",
  hostname: "example.com",
};

type Schema = Readonly<Record<string, unknown>>;

interface Walk {
  readonly root: unknown;
  nodes: number;
}

/**
 * The smallest value that fits a JSON Schema: required properties only (at the top, all properties when
 * nothing is required), first enum member, least number. Patterns are not honoured.
 */
export function minimalInstance(schema: unknown): unknown {
  return visit(schema, { root: schema, nodes: 0 }, 0);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function visit(schema: unknown, walk: Walk, depth: number): unknown {
  walk.nodes += 1;
  if (!isSchema(schema)) return "sample";
  if (walk.nodes > NODES_MAX || depth > DEPTH_MAX) return null;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  if (typeof schema.$ref === "string") return visit(resolve(schema.$ref, walk.root), walk, depth + 1);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options) && options.length > 0) return visit(options[0], walk, depth + 1);
  if (Array.isArray(schema.allOf)) return mergeAll(schema, schema.allOf, walk, depth);
  return ofType(schema, walk, depth);
}

function mergeAll(schema: Schema, members: readonly unknown[], walk: Walk, depth: number): unknown {
  const { allOf: _, ...own } = schema;
  const values = [...members, own].map((member) => visit(member, walk, depth + 1));
  const objects = values.filter(isSchema);
  return objects.length > 0 ? Object.assign({}, ...objects) : values[0];
}

function ofType(schema: Schema, walk: Walk, depth: number): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || (type === undefined && isSchema(schema.properties))) return objectOf(schema, walk, depth);
  if (type === "array") {
    const length = Math.min(numberIn(schema.minItems) ?? 0, NODES_MAX);
    const items: unknown[] = [];
    while (items.length < length && walk.nodes <= NODES_MAX) items.push(visit(schema.items, walk, depth + 1));
    return items;
  }
  if (type === "integer" || type === "number") return numberOf(schema, type === "integer");
  if (type === "boolean") return true;
  if (type === "null") return null;
  return stringOf(schema);
}

function objectOf(schema: Schema, walk: Walk, depth: number): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : depth === 0 ? Object.keys(properties) : [];
  const names = required.filter((name) => typeof name === "string");
  return Object.fromEntries(names.map((name) => [name, visit(properties[name], walk, depth + 1)]));
}

function numberOf(schema: Schema, whole: boolean): number {
  const step = numberIn(schema.multipleOf) ?? 1;
  const above = numberIn(schema.exclusiveMinimum);
  const least = numberIn(schema.minimum) ?? (above === null ? null : above + (whole ? 1 : step / 2));
  const below = numberIn(schema.exclusiveMaximum);
  const most = numberIn(schema.maximum) ?? (below === null ? null : below - (whole ? 1 : step / 2));
  const value = least ?? Math.min(0, most ?? 0);
  return schema.multipleOf === undefined ? value : Math.ceil(value / step) * step;
}

function stringOf(schema: Schema): string {
  const format = typeof schema.format === "string" ? FORMATS[schema.format] : undefined;
  const least = Math.min(numberIn(schema.minLength) ?? 0, 10_000);
  const most = numberIn(schema.maxLength) ?? Number.POSITIVE_INFINITY;
  return format ?? "sample".padEnd(least, "x").slice(0, most);
}

function numberIn(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function resolve(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return undefined;
  let at: unknown = root;
  for (const step of ref.slice(1).split("/").filter(Boolean)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isSchema(at) ? at[key] : undefined;
  }
  return at;
}

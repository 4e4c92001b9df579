/** One number of a family; `suffix` follows the family's name, as in `_bucket`. */
export interface Sample {
  suffix?: string;
  labels?: Record<string, string>;
  value: number;
}

/** One metric; its name is told without the prefix `sluicegate_`. */
export interface Family {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  samples: readonly Sample[];
}

/** Metrics in Prometheus' text format 0.0.4. */
export function prometheusText(families: readonly Family[]): string {
  return families.map(familyText).join("");
}

function familyText({ name, help, type, samples }: Family): string {
  const full = `sluicegate_${name}`;
  const lines = samples.map(({ suffix = "", labels = {}, value }) => `${full}${suffix}${labelText(labels)} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join("")}`;
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

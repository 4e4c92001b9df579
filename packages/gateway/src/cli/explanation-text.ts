import type { ExplainedCandidate, Explanation } from "../admin/explanation.ts";
import type { CliContext } from "./context.ts";
import { type Cell, type Column, tableText } from "./table.ts";
import { printable, stressed } from "./terminal-text.ts";

/** A decision for people: who asks for what, what decided, and each deployment with its reason, in the order it is tried. */
export function explanationText(found: Explanation, context: CliContext): string {
  const lines = [headline(found, context), ...notes(found), ""];
  const text = lines.map((line) => `${printable(line)}\n`).join("");
  const end = found.refused ? `\n${stressed(context, "bad", printable(refusal(found.refused)))}\n` : "";
  if (found.candidates.length === 0) return text.trimEnd() + (end === "" ? "\n" : `\n${end}`);
  let place = 0;
  const scored = found.candidates.some(({ score }) => score !== undefined);
  const columns = scored ? [...COLUMNS, SCORE] : COLUMNS;
  const rows = found.candidates.map((candidate) => row(candidate, candidate.kept ? ++place : null));
  return text + tableText({ columns, rows }, context) + end;
}

function headline({ alias, facts, route, rule, strategy }: Explanation, context: CliContext): string {
  const asks = `${facts.tenant} asks for ${alias}`;
  if (rule === null) return `${asks}: refused before it is routed`;
  const served = route !== null && route !== alias ? `, served as ${route}` : "";
  return `${stressed(context, null, asks)}${served}: ${decidedBy(rule)}, ${strategy}`;
}

function decidedBy(rule: string): string {
  const words: Readonly<Record<string, string>> = {
    chain: "by the route's own chain",
    override: "by the tenant's own chain",
    canary: "by the route's experiment",
    raw: "by the name itself",
  };
  return Object.hasOwn(words, rule) ? (words[rule] ?? rule) : `by rule ${rule}`;
}

function notes(found: Explanation): string[] {
  const { classification, residency, variant, complexity, passed, shadow, config } = found;
  const parts = [
    classification === null ? null : `class ${classification}`,
    residency === null ? null : `has to stay in ${residency}`,
    variant === null ? null : `variant ${variant}`,
  ].filter((part) => part !== null);
  const lines = parts.length > 0 ? [parts.join(" · ")] : [];
  if (complexity) {
    lines.push(`complexity: ${complexity.verdict} (${complexity.because.replaceAll("_", " ")}), to ${complexity.to}`);
  }
  for (const { rule, candidates } of passed) {
    const why = candidates.map(({ deployment, reason }) => `${deployment} ${reason}`).join("; ");
    lines.push(`rule ${rule} matches, and nothing of it is left: ${why}`);
  }
  for (const { rule, chain } of shadow) lines.push(`rule ${rule}, in shadow, would take ${chain.join(", ")}`);
  if (config.recorded !== null && config.recorded !== config.revision) {
    lines.push(`the config has changed since: it was ${config.recorded}, this is ${config.revision}`);
  }
  return lines;
}

const COLUMNS: readonly Column[] = [
  { title: "TRY", align: "right", keep: true },
  { title: "DEPLOYMENT", keep: true },
  { title: "GATE" },
  { title: "WHY" },
];
const SCORE: Column = { title: "SCORE", align: "right", leaves: 1 };

function row({ deployment, kept, gate, reason, score }: ExplainedCandidate, place: number | null): Cell[] {
  return [
    place === null ? { text: "no", stress: "bad" } : { text: String(place), stress: "good" },
    deployment,
    kept ? null : (gate ?? null),
    reason,
    score === undefined ? null : String(Number(score.toPrecision(4))),
  ];
}

function refusal({ code, message }: NonNullable<Explanation["refused"]>): string {
  return `refused: ${code}: ${message}`;
}

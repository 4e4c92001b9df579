import { didYouMean } from "../nearest.ts";
import type { Path, Problems } from "../problems.ts";
import type { MatchInput, RuleInput } from "../schema/rules.ts";
import type { RoutingRule, RuleMatch } from "../snapshot.ts";
import { nodeAt, placeAt } from "../yaml/node.ts";
import { chainOf, type FindDeployment } from "./chains.ts";
import { drop, type Entry, errorIn } from "./entry.ts";
import { checkClass, checkTenant, type Known, listOf } from "./known.ts";
import { fieldsOf, matchesInside } from "./match-space.ts";
import { checkPlainName } from "./read-sections.ts";

/** A rule, and where it is written. */
export interface BuiltRule {
  rule: RoutingRule;
  entry: Entry<RuleInput>;
}

/** What rows say in the place of a rule's name where no rule decided. */
const RESERVED: readonly string[] = ["chain", "override", "canary", "complexity", "raw"];

/** The rules by priority, those of one priority as they are written. */
export function buildRules(
  entries: readonly Entry<RuleInput>[],
  find: FindDeployment,
  known: Known,
  problems: Problems,
): BuiltRule[] {
  const built: BuiltRule[] = [];
  const names = new Set<string>();
  for (const entry of entries) {
    const input = entry.value;
    if (!input) continue;
    checkName(entry, input.name, names, problems);
    names.add(input.name);
    const when = matchOf(entry, "when", input.when, known, problems);
    const unless = input.unless ? matchOf(entry, "unless", input.unless, known, problems) : null;
    if (unless && matchesInside(fieldsOf(when), fieldsOf(unless))) {
      errorIn(
        entry,
        ["unless"],
        "`unless` takes out everything that `when` lets in: the rule matches nothing",
        problems,
      );
    }
    const chain = chainOf(input.chain, { entry, below: ["chain"], mayMove: false }, find, problems);
    if (chain.length === 0) {
      if (!problems.hasErrors()) drop(entry, "no deployment of its chain is left", problems);
      continue;
    }
    const { name, priority, mode } = input;
    built.push({ entry, rule: { name, priority, when, unless, chain: chain.map((link) => link.name), mode } });
  }
  return built.sort((a, b) => a.rule.priority - b.rule.priority);
}

function checkName(entry: Entry<RuleInput>, name: string, before: ReadonlySet<string>, problems: Problems): void {
  checkPlainName(name, placeAt(entry.node, ["name"]), [...entry.path, "name"], problems);
  if (RESERVED.includes(name)) {
    errorIn(entry, ["name"], `\`${name}\` is what rows say where no rule decided; take another name`, problems);
  } else if (before.has(name)) {
    errorIn(entry, ["name"], `a second rule \`${name}\``, problems);
  }
}

function matchOf(
  entry: Entry<RuleInput>,
  key: "when" | "unless",
  input: MatchInput,
  known: Known,
  problems: Problems,
): RuleMatch {
  for (const [field, values] of Object.entries(input)) {
    if (!Array.isArray(values)) continue;
    const isList = nodeAt(entry.node, [key, field])?.kind === "list";
    for (const [i, value] of values.entries()) {
      const below = isList ? [key, field, i] : [key, field];
      checkValue(entry, below, field, value, input, known, problems);
    }
  }
  if (key === "unless" && Object.keys(input).length === 0) {
    errorIn(entry, ["unless"], "an empty `unless` takes out everything: the rule matches nothing", problems);
  }
  // An absent field is no member at all, so that the rest need not tell the two apart.
  return Object.fromEntries(Object.entries(input).filter(([, values]) => values !== undefined));
}

/** Teams, applications, agents and tags come with requests; those that are declared somewhere are checked here. */
function checkValue(
  entry: Entry<RuleInput>,
  below: Path,
  field: string,
  value: string,
  { tenant: tenants }: MatchInput,
  known: Known,
  problems: Problems,
): void {
  const unknown = (what: string, names: ReadonlySet<string>): void => {
    const hint = didYouMean(value, names) || listOf([...names]) || (names.size === 0 ? "; none is declared" : "");
    errorIn(entry, below, `unknown ${what} \`${value}\`${hint}`, problems);
  };
  if (field === "classification") checkClass(entry, below, value, known, problems);
  if (field === "tenant") checkTenant(entry, below, value, known, problems);
  if (field === "alias" && !known.aliases.has(value)) unknown("alias", known.aliases);
  const { taskClasses, teams } = known;
  if (field === "task_class" && taskClasses && taskClasses.length > 0 && !taskClasses.includes(value)) {
    unknown("task class", new Set(taskClasses));
  }
  if (field === "team" && teams) {
    const declared = [...teams].flatMap(([tenant, names]) => (tenants?.includes(tenant) === false ? [] : names));
    if (!declared.includes(value)) unknown("team", new Set(declared));
  }
}

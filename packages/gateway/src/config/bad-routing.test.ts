import { describe } from "vitest";
import { deployment, provider, SIM, testRefused } from "./test/expect-refused.ts";

/** A route `r` over two deployments with these options, beside an alias `other` and tenants `t` and `retail`. */
const route = (options: string, rest = ""): string =>
  `${SIM}routes:
  r: { chain: [sim/a, sim/b], ${options} }
  other: { chain: [sim/c] }
tenants: { t: { models: "*" }, retail: { models: "*" } }
${rest}`;

describe("strategies", () => {
  const chain = (text: string, strategy: string): string =>
    `${SIM}routes: { r: { chain: ${text}, strategy: ${strategy} } }\n`;
  testRefused([
    ["an unknown one", route("strategy: ▸cheepest"), "routes.r.strategy", "did you mean `cheapest`?"],
    [
      "weights without it",
      chain("[sim/a, { deployment: sim/b, weight: ▸1 }]", "ordered"),
      "routes.r.chain[1].weight",
      "write `strategy: weighted`",
    ],
    [
      "half the weights",
      chain("[▸sim/a, { deployment: sim/b, weight: 0.9 }]", "weighted"),
      "routes.r.chain[0]",
      "`sim/a` has no `weight`",
    ],
    [
      "no weight at all",
      chain("▸[{ deployment: sim/a, weight: 0 }, { deployment: sim/b, weight: 0 }]", "weighted"),
      "routes.r.chain",
      "every `weight` of this chain is 0",
    ],
    [
      "a weight below 0",
      chain("[{ deployment: sim/a, weight: ▸-1 }]", "weighted"),
      "routes.r.chain[0].weight",
      "must not be negative",
    ],
    [
      "a misspelt weight",
      chain("[{ deployment: sim/a, ▸wieght: 1 }]", "weighted"),
      "routes.r.chain[0].wieght",
      "did you mean `weight`?",
    ],
    ["an objective without a price", route("latency_slo: ▸2s"), "routes.r.latency_slo", "write `strategy: cheapest`"],
    ["a share over 1", route("health: { error_ceiling: ▸10 }"), "routes.r.health.error_ceiling", "between 0 and 1"],
    [
      "whom to wait for",
      route("queue: { on: [▸tokens] }"),
      "routes.r.queue.on[0]",
      "it is one of `concurrency`, `rate`",
    ],
    ["no depth", route("queue: { max_depth: ▸0 }"), "routes.r.queue.max_depth", "at least 1"],
    ["affinity to whom", route("affinity: ▸sesion"), "routes.r.affinity", "did you mean `session`?"],
    [
      "no rate",
      route("slow_stream: ▸{ abort: true }").replace("▸", "").replace("slow_stream", "▸slow_stream"),
      "routes.r.slow_stream",
      "`tokens_per_second` is missing",
    ],
  ]);
});

describe("what needs another deployment", () => {
  const alone = (options: string): string => `${SIM}routes: { r: { chain: [sim/a], ${options} } }\n`;
  testRefused([
    ["a hedge", alone("hedge: ▸{ after: p95 }"), "routes.r.hedge", "this route leads to one alone"],
    ["a larger window", alone("context_fallback: ▸true"), "routes.r.context_fallback", "this route leads to one alone"],
    ["a hedge without fallback", route("fallback: false, hedge: ▸{}"), "routes.r.hedge", "`fallback: false` forbids"],
    ["when to hedge", route("hedge: { after: ▸p99 }"), "routes.r.hedge.after", "is not a duration or `p95`"],
    ["a late hedge", route("hedge: { after: ▸1h }"), "routes.r.hedge.after", "longer than 10m"],
    [
      "a hedge that never goes out",
      route("timeouts: { hop: 5s }, hedge: { after: ▸5s }"),
      "routes.r.hedge.after",
      "no hedge would ever be made",
    ],
    [
      "a window that no stream fills",
      route("timeouts: { stream_max: 1m, total: 30s }, slow_stream: { tokens_per_second: 5, window: ▸2m }"),
      "routes.r.slow_stream.window",
      "no stream would ever be measured",
    ],
    ["no hedges", route("hedge: { max_extra: ▸0 }"), "routes.r.hedge.max_extra", "more than 0"],
  ]);
});

describe("overrides", () => {
  testRefused([
    [
      "of an unknown tenant",
      route("tenant_overrides: { ▸retial: [sim/a] }"),
      "routes.r.tenant_overrides.retial",
      "did you mean `retail`?",
    ],
    [
      "with an unknown deployment",
      route("tenant_overrides: { t: [▸smi/a] }"),
      "routes.r.tenant_overrides.t[0]",
      "did you mean `sim/a`?",
    ],
    [
      "with an alias",
      route("tenant_overrides: { t: [▸other] }"),
      "routes.r.tenant_overrides.t[0]",
      "`other` is an alias",
    ],
    ["with one twice", route("tenant_overrides: { t: [sim/a, ▸sim/a] }"), "routes.r.tenant_overrides.t[1]", "twice"],
    ["of nothing", route("tenant_overrides: { t: ▸[] }"), "routes.r.tenant_overrides.t", "is empty"],
    ["as a text", route("tenant_overrides: { t: ▸sim/a }"), "routes.r.tenant_overrides.t", "a list is wanted"],
  ]);
});

describe("experiments", () => {
  const canary = (text: string, rest = ""): string => route(`canary: ${text}`, rest);
  testRefused([
    [
      "an unknown deployment",
      canary("{ deployment: ▸smi/n, percent: 5, variant: v }"),
      "routes.r.canary.deployment",
      "did you mean `sim`?",
    ],
    [
      "an unknown one of several",
      canary("[{ deployment: sim/n, percent: 5, variant: v }, { deployment: ▸nix, percent: 5, variant: w }]"),
      "routes.r.canary[1].deployment",
      "unknown deployment `nix`",
    ],
    [
      "over 100 percent",
      canary("▸[{ deployment: sim/n, percent: 60, variant: v }, { deployment: sim/m, percent: 40.5, variant: w }]"),
      "routes.r.canary",
      "the arms are 100.5 percent together",
    ],
    [
      "101 percent",
      canary("{ deployment: sim/n, percent: ▸101, variant: v }"),
      "routes.r.canary.percent",
      "between 0 and 100",
    ],
    [
      "two of one name",
      canary("[{ deployment: sim/n, percent: 5, variant: v }, { deployment: sim/m, percent: 5, variant: ▸v }]"),
      "routes.r.canary[1].variant",
      "two arms are called `v`",
    ],
    [
      "the rest's name",
      canary("{ deployment: sim/n, percent: 5, variant: ▸stable }"),
      "routes.r.canary.variant",
      "take another",
    ],
    [
      "no name for a header",
      canary("{ deployment: sim/n, percent: 5, variant: ▸a b }"),
      "routes.r.canary.variant",
      "cannot be a name",
    ],
    [
      "a flag that nobody knows",
      canary("{ deployment: sim/n, percent: 5, variant: v, flag: ▸f }"),
      "routes.r.canary.flag",
      "write `flags: { provider: env }`",
    ],
    [
      "no percent",
      canary("▸{ deployment: sim/n, variant: v }").replace("canary: ▸", "▸canary: "),
      "routes.r.canary",
      "`percent` is missing",
    ],
    ["no arms", canary("▸[]"), "routes.r.canary", "has no arms"],
  ]);
});

describe("complexity", () => {
  const complex = (text: string): string => route(`complexity: { ${text} }`);
  testRefused([
    [
      "an unknown branch",
      complex("cheap: ▸otter, capable: sim/a"),
      "routes.r.complexity.cheap",
      "unknown deployment or alias `otter`; did you mean `other`?",
    ],
    [
      "no branch",
      complex("cheap: sim/a").replace("complexity", "▸complexity"),
      "routes.r.complexity",
      "`capable` is missing",
    ],
    ["itself", complex("cheap: ▸r, capable: sim/a"), "routes.r.complexity.cheap", "this very alias"],
    ["no choice", complex("cheap: sim/a, capable: ▸sim/a"), "routes.r.complexity.capable", "there is no choice"],
    [
      "another that chooses",
      complex("cheap: sim/a, capable: ▸other").replace(
        "[sim/c]",
        "[sim/c], complexity: { cheap: sim/c, capable: sim/d }",
      ),
      "routes.r.complexity.capable",
      "tells requests apart by `complexity` itself",
    ],
    [
      "short and long",
      complex("cheap: sim/a, capable: sim/b, short: ▸3000"),
      "routes.r.complexity.short",
      "a message would be both",
    ],
    [
      "long and short",
      complex("cheap: sim/a, capable: sim/b, long: ▸100"),
      "routes.r.complexity.long",
      "a message would be both",
    ],
    [
      "a cut of nobody's",
      complex("cheap: sim/a, capable: sim/b, ▸cut: 0.4"),
      "routes.r.complexity.cut",
      "there is no `classifier`",
    ],
    [
      "a budget of nobody's",
      complex("cheap: sim/a, capable: sim/b, ▸budget: 9ms"),
      "routes.r.complexity.budget",
      "no `classifier`",
    ],
    [
      "an unknown classifier",
      complex("cheap: sim/a, capable: sim/b, classifier: { alias: ▸otter }"),
      "routes.r.complexity.classifier.alias",
      "did you mean `other`?",
    ],
    [
      "a classifier that has to ask",
      complex("cheap: sim/a, capable: sim/b, classifier: { alias: ▸r }"),
      "routes.r.complexity.classifier.alias",
      "would ask for a classifier",
    ],
    [
      "no classifier",
      complex("cheap: sim/a, capable: sim/b, ▸classifier: {}"),
      "routes.r.complexity.classifier",
      "either `alias` or `url`",
    ],
    [
      "a classifier nowhere",
      complex("cheap: sim/a, capable: sim/b, classifier: { url: ▸judge }"),
      "routes.r.complexity.classifier.url",
      "not an http or https URL",
    ],
    [
      "a password of a classifier's",
      complex('cheap: sim/a, capable: sim/b, classifier: { url: ▸"http://u:p@judge" }'),
      "routes.r.complexity.classifier.url",
      "holds a user or password",
    ],
  ]);
});

describe("deployments", () => {
  const classes = "classifications: [public, restricted]\n";
  const plain = (text: string): string => deployment(`d: { provider: sim, model: a, ${text} }`);
  const limits = (text: string): string => `${plain(`limits: ${text}`)}tenants: { retail: { models: "*" } }\n`;
  testRefused([
    [
      "an unknown class",
      `${classes}${plain("max_classification: ▸restrictd")}`,
      "deployments.d.max_classification",
      "did you mean `restricted`?",
    ],
    [
      "a class like no other",
      `${classes}${plain("max_classification: ▸zzz")}`,
      "deployments.d.max_classification",
      "known are `public`, `restricted`",
    ],
    [
      "a class of none",
      plain("max_classification: ▸public"),
      "deployments.d.max_classification",
      "`classifications` declares no classes",
    ],
    [
      "an unknown tenant",
      `${plain("tenants: [▸retial]")}tenants: { retail: { models: "*" } }\n`,
      "deployments.d.tenants[0]",
      "unknown tenant `retial`; did you mean `retail`?",
    ],
    ["nobody", plain("tenants: ▸[]"), "deployments.d.tenants", "nobody would be served"],
    ["no limits", limits("▸{}"), "deployments.d.limits", "`limits` sets none"],
    ["limits of floors alone", limits("▸{ floors: {} }"), "deployments.d.limits", "`limits` sets none"],
    ["a limit of nothing", limits("{ rpm: ▸0 }"), "deployments.d.limits.rpm", "at least 1"],
    [
      "a floor of an unknown tenant",
      limits("{ rpm: 9, floors: { ▸retial: { rpm: 1 } } }"),
      "deployments.d.limits.floors.retial",
      "did you mean `retail`?",
    ],
    [
      "a floor above the limit",
      limits("{ tpm: 9, floors: { retail: { tpm: ▸10 } } }"),
      "deployments.d.limits.floors.retail.tpm",
      "this floor of 10 is above the limit of 9",
    ],
    [
      "a floor of no limit",
      limits("{ tpm: 9, floors: { retail: { rpm: ▸1 } } }"),
      "deployments.d.limits.floors.retail.rpm",
      "`limits.rpm`, which is not set",
    ],
    [
      "a floor of nothing",
      limits("{ tpm: 9, floors: { retail: ▸{} } }"),
      "deployments.d.limits.floors.retail",
      "this floor is of nothing",
    ],
    [
      "a floor of places",
      limits("{ concurrency: 9, floors: { retail: { ▸concurrency: 1 } } }"),
      "deployments.d.limits.floors.retail.concurrency",
      "unknown key `concurrency`",
    ],
    ["no share of failures", plain("breaker: { error_rate: ▸0 }"), "deployments.d.breaker.error_rate", "more than 0"],
    [
      "as slow as ever",
      plain("breaker: { latency_factor: ▸1 }"),
      "deployments.d.breaker.latency_factor",
      "more than 1",
    ],
    ["no probes", plain("breaker: { probes: ▸0 }"), "deployments.d.breaker.probes", "at least 1"],
    [
      "a misspelt breaker",
      plain("breaker: { ▸recovry: 5s }"),
      "deployments.d.breaker.recovry",
      "did you mean `recovery`?",
    ],
    [
      "no limits of an account",
      provider("x: { kind: simulator, limits: ▸{} }"),
      "providers.x.limits",
      "`limits` sets none",
    ],
    [
      "floors of an account",
      provider("x: { kind: simulator, limits: { rpm: 5, ▸floors: {} } }"),
      "providers.x.limits.floors",
      "unknown key",
    ],
  ]);
});

import { describe } from "vitest";
import { GOOD, tenants, testRefused } from "./test/expect-refused.ts";

describe("the installation", () => {
  testRefused([
    ["a class twice", `${GOOD}classifications: [a, b, ▸a]\n`, "classifications[2]", "`a` stands here twice"],
    ["no classes", `${GOOD}classifications: ▸[]\n`, "classifications", "is empty"],
    ["a task class twice", `${GOOD}task_classes: [a, ▸a]\n`, "task_classes[1]", "`a` stands here twice"],
    ["a group of nothing", `${GOOD}regions: { eu: ▸[] }\n`, "regions.eu", "is empty"],
    ["a group in itself", `${GOOD}regions: { eu: [eu-west, ▸eu] }\n`, "regions.eu[1]", "leads back to the group `eu`"],
    [
      "groups in a circle",
      `${GOOD}regions: { a: [▸b], b: [c], c: [d, x] , d: [e], e: [a] }\n`,
      "regions.a[0]",
      "`b` leads back to the group `a`",
    ],
    ["classes as a map", `${GOOD}classifications: ▸{ a: 1 }\n`, "classifications", "a list is wanted"],
    ["no such state", `${GOOD}state: ▸redsi://h\n`, "state", "is neither `memory` nor a Redis"],
    ["postgres", `${GOOD}state: ▸postgres://h\n`, "state", "is neither"],
    ["no host", `${GOOD}state: ▸redis://\n`, "state", "is neither"],
    ["a port without an end", `${GOOD}state: ▸redis://h:123456\n`, "state", "is neither"],
    ["sentinels of nobody", `${GOOD}state: ▸redis+sentinel://h1,h2\n`, "state", "names no master"],
    ["several hosts of one", `${GOOD}state: ▸redis://h1,h2\n`, "state", "is neither"],
    ["a state like a map", `${GOOD}state: ▸{ url: x }\n`, "state", "is not `memory` or the URL of a Redis"],
    ["an alert to nowhere", `${GOOD}alerts: [{ url: ▸hook }]\n`, "alerts[0].url", "not an http or https URL"],
    [
      "a kind of alert",
      `${GOOD}alerts: [{ url: "http://h", kinds: [▸breaker_open] }]\n`,
      "alerts[0].kinds[0]",
      "did you mean `breaker_opened`?",
    ],
    ["no kind of alert", `${GOOD}alerts: [{ url: "http://h", kinds: ▸[] }]\n`, "alerts[0].kinds", "names no kind"],
    [
      "a format",
      `${GOOD}alerts: [{ url: "http://h", format: ▸teams }]\n`,
      "alerts[0].format",
      "it is one of `json`, `slack`",
    ],
    ["no address", `${GOOD}alerts: [▸{ format: json }]\n`, "alerts[0]", "`url` is missing"],
    ["flags of whom", `${GOOD}flags: { provider: ▸flagd }\n`, "flags.provider", "it is one of `env`"],
    ["no prefix", `${GOOD}flags: { prefix: ▸a-b }\n`, "flags.prefix", "cannot begin the name of a variable"],
    ["a gate of nobody", `${GOOD}gateway: { ▸gate: {} }\n`, "gateway.gate", "either `command` or `webhook`"],
    [
      "a gate of two",
      `${GOOD}gateway: { ▸gate: { command: a, webhook: "http://b" } }\n`,
      "gateway.gate",
      "either `command` or `webhook`",
    ],
    [
      "a gate nowhere",
      `${GOOD}gateway: { gate: { webhook: ▸b } }\n`,
      "gateway.gate.webhook",
      "not an http or https URL",
    ],
  ]);
});

describe("tenants", () => {
  const classes = "classifications: [public, internal]\n";
  testRefused([
    [
      "an unknown class",
      `${classes}${tenants("t: { defaults: { classification: ▸internl } }")}`,
      "tenants.t.defaults.classification",
      "did you mean `internal`?",
    ],
    [
      "an unknown region",
      tenants("t: { defaults: { residency: ▸eu } }"),
      "tenants.t.defaults.residency",
      "unknown region `eu`",
    ],
    [
      "a misspelt region",
      `gateway: { region: eu-west }\n${tenants("t: { defaults: { residency: ▸eu-wset } }")}`,
      "tenants.t.defaults.residency",
      "did you mean `eu-west`?",
    ],
    ["a grant", tenants("t: { allow: [▸hegde] }"), "tenants.t.allow[0]", "did you mean `hedge`?"],
  ]);
});

import { describe, expect, it } from "vitest";
import type { ModelPolicy } from "../config/snapshot.ts";
import { denialOf, deniesDeployment } from "./permission.ts";

const policy = (allow: ModelPolicy["allow"], deny: string[] = []): ModelPolicy => ({ allow, deny });

describe("denialOf", () => {
  it.each<[string, (ModelPolicy | null)[], string, boolean, string | null]>([
    ["every alias", [policy("*")], "default", false, null],
    ["every alias, as a pattern", [policy(["*"])], "default", false, null],
    ["a listed alias", [policy(["default"])], "default", false, null],
    ["an alias not listed", [policy(["fast"])], "default", false, "not_in_allow_list"],
    ["nothing listed", [policy([])], "default", false, "not_in_allow_list"],
    ["no policy", [null], "default", false, "no_policy"],
    ["no policies", [], "default", false, "no_policy"],
    ["a tenant without one, whatever its key says", [null, policy("*")], "default", false, "no_policy"],
    ["a denied alias, though allowed", [policy("*", ["default"])], "default", false, "denied"],
    ["every alias denied", [policy("*", ["*"])], "default", false, "denied"],
    ["denied by the key alone", [policy("*"), policy("*", ["default"])], "default", false, "denied"],
    ["allowed by both", [policy("*"), policy(["default"])], "default", false, null],
    ["allowed by the key alone", [policy(["fast"]), policy("*")], "default", false, "not_in_allow_list"],
    ["allowed by the tenant alone", [policy("*"), policy(["fast"])], "default", false, "not_in_allow_list"],
    // A raw name needs a pattern of its own.
    ["a raw name under *", [policy("*")], "openai/gpt", true, "not_in_allow_list"],
    ["a raw name under a list of *", [policy(["*"])], "openai/gpt", true, "not_in_allow_list"],
    ["a raw name, listed", [policy(["openai/gpt"])], "openai/gpt", true, null],
    ["a raw name under its provider", [policy(["openai/*"])], "openai/gpt", true, null],
    ["a raw name under another provider", [policy(["azure/*"])], "openai/gpt", true, "not_in_allow_list"],
    [
      "a raw name under a provider whose name begins alike",
      [policy(["open/*"])],
      "openai/gpt",
      true,
      "not_in_allow_list",
    ],
    ["a raw name, denied by its provider", [policy(["openai/*"], ["openai/*"])], "openai/gpt", true, "denied"],
    ["a raw name, denied", [policy(["openai/*"], ["openai/gpt"])], "openai/gpt", true, "denied"],
    ["a deployment by name", [policy(["deployment:a"])], "deployment:a", true, null],
    ["a deployment by name, denied", [policy(["deployment:a"], ["deployment:a"])], "deployment:a", true, "denied"],
    ["a deployment by name under *", [policy("*")], "deployment:a", true, "not_in_allow_list"],
    ["an alias with a slash is no raw name", [policy(["team/*"])], "team/fast", false, "not_in_allow_list"],
    ["a name of JavaScript's", [policy(["default"])], "constructor", false, "not_in_allow_list"],
  ])("%s", (_name, policies, name, raw, expected) => {
    expect(denialOf(policies, name, raw)).toBe(expected);
  });
});

describe("deniesDeployment", () => {
  it.each<[(ModelPolicy | null)[], boolean]>([
    [[policy("*")], false],
    [[policy("*", ["deployment:a"])], true],
    [[policy("*", ["openai/gpt"])], true],
    [[policy("*", ["openai/*"])], true],
    [[policy("*", ["openai/o*", "azure/*", "gpt", "openai"])], false],
    [[policy("*", ["a"])], true],
    [[policy("*", ["deployment:b", "*"])], false],
    [[policy("*"), policy("*", ["deployment:a"])], true],
    [[null], false],
    [[], false],
  ])("%j: %s", (policies, denies) => {
    expect(deniesDeployment(policies, { name: "a", provider: "openai", model: "gpt" })).toBe(denies);
  });
});

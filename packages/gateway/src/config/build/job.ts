import { Secret } from "../../core/secret.ts";
import type { Environment } from "../env.ts";
import type { Preset } from "../presets.ts";
import type { Path, Problems } from "../problems.ts";
import type { ProviderInput } from "../schema/providers.ts";
import { nodeAt } from "../yaml/node.ts";
import { type Entry, warnIn } from "./entry.ts";

/** One provider being built. */
export interface Job {
  entry: Entry<ProviderInput>;
  input: ProviderInput;
  preset: Preset | null;
  environment: Environment;
  problems: Problems;
}

/** A secret with where it came from. A literal one works and warns, where the place is meant for secrets. */
export function secretAt({ entry, problems }: Job, below: Path, value: string): Secret {
  const node = nodeAt(entry.node, below);
  const origin = node?.kind === "scalar" ? node.origin : null;
  const last = String(below.at(-1));
  if (origin === null && (below[0] !== "headers" || /auth|key|token|secret|cookie/i.test(last))) {
    warnIn(entry, below, `\`${last}\` is a literal secret; write env:NAME or file:PATH instead`, problems);
  }
  return new Secret(value, origin ?? "literal");
}

import type { Path, Problems } from "../problems.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";

/** Where the name of a deployment is written. */
export interface Written {
  entry: Entry<unknown>;
  below: Path;
  /** Its route says `pin: latest`: a floating name is meant. */
  mayMove: boolean;
  /** An alias would do as well, so that those are proposed for a name that is not known. */
  orAlias?: boolean;
}

/**
 * Says which deployment a name means, and makes the one that `provider/model` stands for: its name, `left out` when it was
 * dropped for want of a secret, null when it means nothing (and that has been told).
 */
export type FindDeployment = (name: string, written: Written) => string | "left out" | null;

/** A deployment of a chain, and where in the list it stands. */
export interface Link {
  name: string;
  index: number;
}

/** The deployments that a list of names means, in its order; what means nothing is told and left out. */
export function chainOf(names: readonly string[], written: Written, find: FindDeployment, problems: Problems): Link[] {
  const { entry, below } = written;
  const chain: Link[] = [];
  for (const [index, name] of names.entries()) {
    const at = [...below, index];
    const found = find(name, { ...written, below: at });
    if (found === null) continue;
    if (found === "left out") {
      warnIn(entry, at, `\`${name}\` leaves the chain, because it was left out`, problems);
    } else if (chain.some((link) => link.name === found)) {
      errorIn(entry, at, `\`${found}\` stands in this chain twice`, problems);
    } else {
      chain.push({ name: found, index });
    }
  }
  return chain;
}

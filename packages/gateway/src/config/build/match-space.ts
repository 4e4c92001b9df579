import type { RuleMatch } from "../snapshot.ts";

/** The fields of a match with their values, each tag a field of its own. */
export type MatchFields = ReadonlyMap<string, readonly string[]>;

/** A match by its fields. */
export function fieldsOf({ tags, ...fields }: RuleMatch): MatchFields {
  const found = new Map<string, readonly string[]>();
  for (const [field, values] of Object.entries(fields)) if (values) found.set(field, values);
  for (const [tag, values] of Object.entries(tags ?? {})) found.set(`tags.${tag}`, values);
  return found;
}

/** Whether everything that `inner` matches is matched by `outer` as well. Never true where it is not so. */
export function matchesInside(inner: MatchFields, outer: MatchFields): boolean {
  for (const [field, values] of outer) {
    const own = inner.get(field);
    if (!own?.every((value) => values.includes(value))) return false;
  }
  return true;
}

/** Whether nothing can match both. Never true where it is not so. */
export function matchesApart(one: MatchFields, other: MatchFields): boolean {
  for (const [field, values] of one) {
    const theirs = other.get(field);
    if (theirs && !values.some((value) => theirs.includes(value))) return true;
  }
  return false;
}

/** Fields without those that let every value of a closed set in: those say nothing. */
export function withoutAll(fields: MatchFields, sets: Readonly<Record<string, ReadonlySet<string>>>): MatchFields {
  const telling = [...fields].filter(([field, values]) => {
    const all = sets[field];
    return !all || all.size > values.length || ![...all].every((value) => values.includes(value));
  });
  return new Map(telling);
}

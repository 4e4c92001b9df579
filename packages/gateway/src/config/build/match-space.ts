import type { RuleMatch } from "../snapshot.ts";

/** The fields of a match with their values, tags each as a field of its own. */
function fieldsOf({ tags, ...fields }: RuleMatch): Map<string, readonly string[]> {
  const named = Object.entries(fields).filter((field): field is [string, readonly string[]] => field[1] !== undefined);
  return new Map([
    ...named,
    ...Object.entries(tags ?? {}).map(([tag, values]): [string, readonly string[]] => [`tags.${tag}`, values]),
  ]);
}

/** Whether everything that `inner` matches is matched by `outer` as well. Never true where it is not so. */
export function matchesInside(inner: RuleMatch, outer: RuleMatch): boolean {
  const within = fieldsOf(inner);
  return [...fieldsOf(outer)].every(([field, values]) => {
    const own = within.get(field);
    return own?.every((value) => values.includes(value)) === true;
  });
}

/** Whether nothing can match both. Never true where it is not so. */
export function matchesApart(one: RuleMatch, other: RuleMatch): boolean {
  const fields = fieldsOf(other);
  return [...fieldsOf(one)].some(([field, values]) => {
    const theirs = fields.get(field);
    return theirs !== undefined && !values.some((value) => theirs.includes(value));
  });
}

/** A match without the fields that let every value of a closed set in: those say nothing. */
export function withoutAll(match: RuleMatch, sets: Readonly<Record<string, ReadonlySet<string>>>): RuleMatch {
  const telling = Object.entries(match).filter(([field, values]) => {
    const all = sets[field];
    return !all || !Array.isArray(values) || ![...all].every((value) => values.includes(value));
  });
  return Object.fromEntries(telling);
}

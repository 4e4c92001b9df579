/**
 * Whether data of a class may go to something with this ceiling (ruling 7). Closed by default: without a class the lowest is
 * meant, without a ceiling only the lowest is held, and a class or ceiling that is not declared matches nothing. Where no
 * classes are declared (`classifications`, ascending, is empty) none is looked at.
 */
export function classAllowed(
  classifications: readonly string[],
  ceiling: string | undefined,
  wanted: string | null,
): boolean {
  if (classifications.length === 0) return true;
  const rank = wanted === null ? 0 : classifications.indexOf(wanted);
  const highest = ceiling === undefined ? 0 : classifications.indexOf(ceiling);
  return rank !== -1 && rank <= highest;
}

/**
 * Whether something that runs in `region` may hold data that has to stay in `residency`, a region or a group of them
 * (`regions`, by group; the loader has put the members of groups inside groups into them). Nothing is known to be inside
 * without a region: null is outside of all (ruling 7).
 */
export function regionWithin(
  regions: ReadonlyMap<string, readonly string[]>,
  residency: string,
  region: string | null,
): boolean {
  if (region === null) return false;
  return region === residency || regions.get(residency)?.includes(region) === true;
}

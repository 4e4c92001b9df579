/** Appends a list of any length. (`push(...items)` makes an argument of each, and a call takes no hundred thousand of them.) */
export function pushAll<T>(into: T[], items: readonly T[]): void {
  for (const item of items) into.push(item);
}

/** Freezes a value and everything in it, values of Maps too; the Maps themselves are read-only by type. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of value instanceof Map ? value.values() : Object.values(value)) deepFreeze(member);
  return value;
}

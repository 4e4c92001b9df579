/** Integer nano-dollars of a dollar amount; null when it is finer than a nano-dollar. Exact up to a million dollars. */
export function nanoUsd(usd: number): number | null {
  const nano = Math.round(usd * 1e9);
  // Decimal digits survive the way through a double and back, so a rest can only be digits beyond the ninth.
  return nano / 1e9 === usd ? nano : null;
}

/** A path segment as it was meant; one that is badly encoded stays as it is, and names nothing. */
export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

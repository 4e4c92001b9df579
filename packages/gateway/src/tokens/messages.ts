/** A slice of text to be counted. */
export interface CountCall {
  id: number;
  texts: string[];
}

/** How many tokens it is, or what went wrong. */
export type CountAnswer = { id: number; tokens: number } | { id: number; error: string };

/** What a tenant is sure of in a ceiling: per minute; null: nothing of that kind. */
export interface Floor {
  rpm: number | null;
  tpm: number | null;
}

/** An allocation that calls share: of one model at one provider in one region, or of a provider's account (LIMIT-4). */
export interface Ceiling {
  /** What it is kept under, the same on every replica: calls with the same key share it. */
  key: string;
  /** Who is told to be full: `deployment:x` or `provider:x`. */
  scope: string;
  /** Requests a minute. Null: none of that kind, here and below. */
  rpm: number | null;
  /** Tokens a minute. */
  tpm: number | null;
  /** Calls at the same time. */
  concurrency: number | null;
  /** By tenant. What they are sure of nobody else draws on: the rest shares what is left. */
  floors: ReadonlyMap<string, Floor>;
}

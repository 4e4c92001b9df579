const MARK = "sim-token-";
/** Remembered at once; the oldest is forgotten first, and is then over. */
const TOKENS_MAX = 10_000;

/** The access tokens that this simulator has given out. */
export class IssuedTokens {
  readonly #endsAt = new Map<string, number>();
  #count = 0;

  /** A new one that holds for so many seconds. */
  issue(seconds: number): string {
    const token = `${MARK}${++this.#count}`;
    const [oldest] = this.#endsAt.keys();
    if (this.#endsAt.size >= TOKENS_MAX && oldest !== undefined) this.#endsAt.delete(oldest);
    this.#endsAt.set(token, performance.now() + seconds * 1000);
    return token;
  }

  /** True for a bearer header with a token of such a simulator that holds no longer, or that it has forgotten. */
  isOver(authorization: string | undefined): boolean {
    if (authorization?.startsWith(`Bearer ${MARK}`) !== true) return false;
    const endsAt = this.#endsAt.get(authorization.slice("Bearer ".length));
    return endsAt === undefined || performance.now() >= endsAt;
  }

  /** Every token is over. */
  revoke(): void {
    this.#endsAt.clear();
  }
}

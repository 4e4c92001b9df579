import { inspect } from "node:util";

/** A credential in memory. Prints, logs and serialises as `***`; only `reveal()` gives it out. */
export class Secret {
  readonly #value: string;
  /** Where it came from, for messages: `env:OPENAI_API_KEY`, `file:…` or `literal`. */
  readonly origin: string;

  constructor(value: string, origin: string) {
    this.#value = value;
    this.origin = origin;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "***";
  }

  toJSON(): string {
    return "***";
  }

  [inspect.custom](): string {
    return "***";
  }
}

/** Every secret in a value, wherever it stands. Cycles are nobody's config. */
export function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}

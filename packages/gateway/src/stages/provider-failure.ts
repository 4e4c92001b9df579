import type { ProviderFailure } from "../core/errors.ts";

/** One failed call as the attempt saw it. `ambiguous`: the provider may have done the work. */
export function providerFailure(
  kind: ProviderFailure["class"],
  message: string,
  ambiguous: boolean,
  httpStatus: number | null = null,
): ProviderFailure {
  return { class: kind, message, httpStatus, retryAfterMs: null, ambiguous };
}

/** The words of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

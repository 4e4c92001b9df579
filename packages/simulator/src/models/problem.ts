/** What went wrong, free of any wire format; each format has its own status body for it. */
export type ProblemKind =
  | "invalid_request"
  | "bad_key"
  | "forbidden"
  | "not_found"
  | "model_not_found"
  | "too_large"
  | "rate_limited"
  | "quota"
  | "context"
  | "content_filter"
  | "overloaded"
  | "server";

/** The error bodies that servers of the OpenAI family are known to send; `openai` is the default. */
export const ERROR_SHAPES = ["openai", "azure", "string", "flat", "detail", "message", "number", "none"] as const;

/** One of ERROR_SHAPES. */
export type ErrorShape = (typeof ERROR_SHAPES)[number];

/** An error answer before a wire format shapes it. `code` and `type` win over what the kind would give. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code?: string | null;
  readonly type?: string;
  readonly shape?: ErrorShape;
  readonly headers: Readonly<Record<string, string>>;
  /** True: the message is a stand-in for the vendor's own words. */
  readonly stock?: boolean;
}

/** Carries a Problem from where it is noticed to where it is answered. */
export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** Builds a Problem; `rest` overrides any member. */
export function problem(kind: ProblemKind, status: number, message: string, rest: Partial<Problem> = {}): Problem {
  return { kind, status, message, param: null, headers: {}, ...rest };
}

/** Refuses a request: throws a 400 that names the parameter and a code of the wire format. */
export function refuse(message: string, param: string | null, code: string | null = null): never {
  throw new ProblemError(problem("invalid_request", 400, message, { param, code }));
}

import type { ErrorClass } from "@sluicegate/contract";
import type { ProviderFailure } from "../core/errors.ts";
import { type Fields, isObject } from "./field-checks.ts";
import { classifyFailure as classify } from "./openai-error.ts";
import { replyObject } from "./protocol.ts";

/** What the service calls an error, in lower case and without `Exception`, by class (WIRE B5, C10). */
const CLASSES = new Map<string, ErrorClass>(
  Object.entries({
    rate_limited: ["throttling", "throttled", "toomanyrequests", "requestlimitexceeded"],
    quota_exhausted: ["servicequotaexceeded", "limitexceeded"],
    overloaded: ["modelnotready", "serviceunavailable", "overloaded_error", "slowdown"],
    timeout: ["modeltimeout", "requesttimeout"],
    provider_error: ["modelerror", "modelstreamerror", "internalserver", "internalservererror", "internalfailure"],
    auth_failed: [
      ...["accessdenied", "expiredtoken", "unrecognizedclient", "invalidsignature", "incompletesignature"],
      ...[
        "missingauthenticationtoken",
        "invalidclienttokenid",
        "notauthorized",
        "optinrequired",
        "signaturedoesnotmatch",
      ],
      ...["requesttimetooskewed", "requestexpired", "unauthorized", "invalidaccesskeyid"],
    ],
    model_not_found: ["resourcenotfound", "ftuformnotfilled"],
    bad_request: ["validation", "conflict"],
  } satisfies Partial<Record<ErrorClass, string[]>>).flatMap(([name, types]) =>
    types.map((type): [string, ErrorClass] => [type, name as ErrorClass]),
  ),
);

/** Statuses of the types, for an exception inside a stream. */
const STATUSES = new Map<string, number>([
  ["validation", 400],
  ["servicequotaexceeded", 400],
  ["accessdenied", 403],
  ["resourcenotfound", 404],
  ["modeltimeout", 408],
  ["modelstreamerror", 424],
  ["modelerror", 424],
  ["throttling", 429],
  ["modelnotready", 429],
  ["internalserver", 500],
  ["serviceunavailable", 503],
]);

/** Words are all that tells what of a request was not valid. */
const WORDS: readonly [ErrorClass, RegExp][] = [
  [
    "context_overflow",
    /input is too long|too many input tokens|input tokens exceeded|exceeds? (?:the )?(?:maximum|max) (?:length|number of (?:input )?tokens|context)/,
  ],
  [
    "model_not_found",
    /model identifier is invalid|on-demand throughput isn.t supported|end of its life|is not supported in this region|marked by provider as legacy/,
  ],
  [
    "auth_failed",
    /security token included in the request|don.t have access to the model|signature (?:expired|not yet)/,
  ],
];
/** Of a limit: a day's is not over in a minute. */
const SPENT = /per day|daily/;

/** The class of an error answer of an AWS service: by the type in its header or body, then by status and words. */
export function classifyAwsFailure(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  nowMs: number,
): ProviderFailure {
  const reply = replyObject(body) ?? {};
  // Some services spell it with a capital.
  const said =
    reply["message"] === undefined && typeof reply["Message"] === "string" ? { message: reply["Message"] } : null;
  const { upstream: _, ...failure } = classify(status, headers, said ? Buffer.from(JSON.stringify(said)) : body, nowMs);
  return { ...failure, class: classOf(typeOf(headers, reply), failure) };
}

/** The status that stands for an error's type where it came without one; null for a type nobody knows. */
export function awsStatus(type: string): number | null {
  return STATUSES.get(plainType(type)) ?? null;
}

function classOf(type: string, { class: plain, message }: ProviderFailure): ErrorClass {
  const named = CLASSES.get(type);
  if (named === "rate_limited") return SPENT.test(message) ? "quota_exhausted" : named;
  if (named !== undefined && named !== "bad_request" && named !== "provider_error") return named;
  // A model's own error is passed on with its own words: some of them say that the request is at fault.
  const spoken = WORDS.find(([, words]) => words.test(message))?.[0];
  if (plain === "bad_request" || plain === "provider_error") return spoken ?? named ?? plain;
  return plain;
}

/** `ValidationException:http://…` in the header; `com.amazon.coral#ValidationException` in a body. */
function typeOf(headers: Record<string, string>, reply: Fields): string {
  const named = headers["x-amzn-errortype"] ?? reply["__type"] ?? reply["code"] ?? codeIn(reply["error"]);
  return typeof named === "string" ? plainType(named) : "";
}

function codeIn(error: unknown): unknown {
  return isObject(error) ? (error["type"] ?? error["code"]) : undefined;
}

function plainType(type: string): string {
  const [name = ""] = type.slice(type.lastIndexOf("#") + 1).split(":");
  return name.toLowerCase().replace(/exception$/, "");
}

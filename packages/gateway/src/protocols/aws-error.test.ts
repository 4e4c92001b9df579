import { describe, expect, it } from "vitest";
import { classifyAwsFailure } from "./aws-error.ts";

const kindOf = (status: number, type: string | null, body: unknown): string => {
  const headers: Record<string, string> = type === null ? {} : { "x-amzn-errortype": type };
  return classifyAwsFailure(status, headers, Buffer.from(JSON.stringify(body)), 0).class;
};

describe("an error of AWS's", () => {
  it.each([
    [429, "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/", "", "rate_limited"],
    [429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", "quota_exhausted"],
    [400, "ServiceQuotaExceededException", "", "quota_exhausted"],
    [429, "ModelNotReadyException", "", "overloaded"],
    [503, "ServiceUnavailableException", "", "overloaded"],
    [408, "ModelTimeoutException", "", "timeout"],
    [424, "ModelErrorException", "", "provider_error"],
    [424, "ModelErrorException", "prompt is too long: 9 tokens > 8 maximum", "context_overflow"],
    [500, "InternalServerException", "", "provider_error"],
    [403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", "auth_failed"],
    [403, "ExpiredTokenException", "The security token included in the request is expired", "auth_failed"],
    [403, "UnrecognizedClientException", "", "auth_failed"],
    [403, "InvalidSignatureException", "Signature expired: …", "auth_failed"],
    [404, "ResourceNotFoundException", "", "model_not_found"],
    [404, "FTUFormNotFilled", "", "model_not_found"],
    [400, "ValidationException", "The provided model identifier is invalid.", "model_not_found"],
    [
      400,
      "ValidationException",
      "Invocation of model ID x with on-demand throughput isn’t supported.",
      "model_not_found",
    ],
    [400, "ValidationException", "Input is too long for requested model.", "context_overflow"],
    [400, "ValidationException", "400 Bad Request: Too many input tokens. Max input tokens: 8192", "context_overflow"],
    [
      400,
      "ValidationException",
      "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
      "context_overflow",
    ],
    [400, "ValidationException", "messages.0: content is empty", "bad_request"],
    [409, "ConflictException", "", "bad_request"],
    [529, "overloaded_error", "", "overloaded"],
  ])("%i %s «%s» is %s", (status, type, message, kind) => {
    expect(kindOf(status, type, { message })).toBe(kind);
    expect(kindOf(status, null, { __type: `com.amazon.coral.service#${type.split(":")[0]}`, message })).toBe(kind);
  });

  it("is known by its words or its status where nobody named its type", () => {
    expect(kindOf(400, null, { message: "The provided model identifier is invalid." })).toBe("model_not_found");
    expect(kindOf(403, null, { Message: "Authentication failed: Please make sure your API Key is valid." })).toBe(
      "auth_failed",
    );
    expect(kindOf(429, null, {})).toBe("rate_limited");
    expect(kindOf(502, null, "<html>")).toBe("provider_error");
  });

  it("keeps its words, however they are spelt, and shows nobody its body", () => {
    const failure = classifyAwsFailure(403, {}, Buffer.from('{"Message":"No"}'), 0);
    expect([failure.message, failure.upstream]).toEqual(["no", undefined]);
  });

  it("asks to be left alone as long as it says", () => {
    expect(classifyAwsFailure(529, { "retry-after": "3" }, Buffer.from("{}"), 0).retryAfterMs).toBe(3_000);
  });
});

import { ERROR_CLASSES, ERROR_CODES } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { CLASSES, CODES, GatewayError, toGatewayError } from "./errors.ts";

describe("the table of codes", () => {
  // INTERFACE, Errors.
  const STATUSES: [number, string[]][] = [
    [
      400,
      [
        "invalid_request",
        "unsupported_feature",
        "missing_platform_field",
        "context_length_exceeded",
        "content_filter",
        "guardrail_blocked",
      ],
    ],
    [401, ["invalid_api_key"]],
    [
      403,
      [
        "model_not_allowed",
        "permission_denied",
        "residency_violation",
        "classification_violation",
        "permission_denied",
      ],
    ],
    [404, ["model_not_found", "not_found"]],
    [405, ["method_not_allowed"]],
    [408, ["request_timeout"]],
    [413, ["request_too_large"]],
    [422, ["idempotency_conflict"]],
    [429, ["rate_limit_exceeded", "budget_exceeded", "runaway_stopped"]],
    [499, ["cancelled"]],
    [500, ["internal"]],
    [502, ["all_providers_failed"]],
    [503, ["overloaded", "no_healthy_deployment", "draining"]],
    [504, ["latency_budget_exhausted", "provider_timeout"]],
  ];

  it("has every code of the contract with the status users are promised", () => {
    const promised = Object.fromEntries(STATUSES.flatMap(([status, codes]) => codes.map((code) => [code, status])));
    expect(Object.fromEntries(ERROR_CODES.map((code) => [code, CODES[code].status]))).toEqual(promised);
  });

  it("invites an SDK's retry only where one can help", () => {
    const inviting = ERROR_CODES.filter((code) => CODES[code].shouldRetry !== false);
    expect(new Set(inviting)).toEqual(
      new Set(["rate_limit_exceeded", "overloaded", "no_healthy_deployment", "draining", "internal"]),
    );
  });

  it("never blames a client's fault on a provider or on the gateway", () => {
    for (const code of ERROR_CODES) {
      const { status, blame } = CODES[code];
      if (status < 500) expect([code, blame]).toEqual([code, expect.stringMatching(/^(client|policy)$/)]);
      else expect([code, blame]).toEqual([code, expect.stringMatching(/^(gateway|provider)$/)]);
    }
  });
});

it("the table of classes is SPEC PROV-5's", () => {
  const flags = Object.fromEntries(
    ERROR_CLASSES.map((name) => [name, `${CLASSES[name].retryable ? "y" : "n"},${CLASSES[name].fallOver ? "y" : "n"}`]),
  );
  expect(flags).toEqual({
    rate_limited: "y,y",
    overloaded: "y,y",
    provider_error: "y,y",
    timeout: "y,y",
    connection_failed: "y,y",
    invalid_response: "y,y",
    quota_exhausted: "n,y",
    auth_failed: "n,y",
    model_not_found: "n,y",
    context_overflow: "n,n",
    content_filtered: "n,n",
    bad_request: "n,n",
    cancelled: "n,n",
  });
});

describe("toGatewayError", () => {
  it("lets a GatewayError through as it is", () => {
    const error = new GatewayError("not_found", "no");
    expect(toGatewayError(error)).toBe(error);
  });

  it.each([new TypeError("cannot read sk-secret of undefined"), "sk-secret", null, undefined, { secret: "sk-secret" }])(
    "hides the words of %s from the client and keeps them for the log",
    (thrown) => {
      const error = toGatewayError(thrown);
      expect(error).toMatchObject({ code: "internal", status: 500 });
      expect(error.message).not.toContain("sk-secret");
      expect(error.details.cause).toBe(thrown);
    },
  );
});

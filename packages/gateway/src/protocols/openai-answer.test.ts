import { ERROR_CODES } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CODES, type ErrorDetails, GatewayError } from "../core/errors.ts";
import { utf8AsLatin1 } from "../core/latin1-text.ts";
import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "./openai-answer.ts";

function encode(code: (typeof ERROR_CODES)[number], details: ErrorDetails = {}) {
  const { status, headers, body } = encodeOpenAiError(new GatewayError(code, "words", details), "req_1");
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
  return { status, headers: Object.fromEntries(pairs) as Record<string, string>, body };
}
const errorIn = (body: string) => (JSON.parse(body) as { error: Record<string, unknown> }).error;

describe("an error", () => {
  it.each(ERROR_CODES)("%s has the table's status, its code and the request's id", (code) => {
    const { status, headers, body } = encode(code);
    expect(status).toBe(CODES[code].status);
    expect(headers["content-type"]).toBe("application/json");
    expect(errorIn(body)).toMatchObject({ code, message: "words", param: null, request_id: "req_1" });
  });

  // INTERFACE, Errors: the OpenAI type of each code.
  it.each([
    ["invalid_request", "invalid_request_error"],
    ["context_length_exceeded", "invalid_request_error"],
    ["invalid_api_key", "invalid_request_error"],
    ["model_not_allowed", "permission_error"],
    ["residency_violation", "permission_error"],
    ["classification_violation", "permission_error"],
    ["model_not_found", "invalid_request_error"],
    ["request_too_large", "invalid_request_error"],
    ["rate_limit_exceeded", "rate_limit_error"],
    ["budget_exceeded", "insufficient_quota"],
    ["runaway_stopped", "insufficient_quota"],
    ["overloaded", "service_unavailable"],
    ["no_healthy_deployment", "service_unavailable"],
    ["draining", "service_unavailable"],
    ["latency_budget_exhausted", "server_error"],
    ["provider_timeout", "server_error"],
    ["all_providers_failed", "server_error"],
    ["internal", "server_error"],
  ] as const)("%s is of type %s", (code, type) => {
    expect(errorIn(encode(code).body)["type"]).toBe(type);
  });

  it("says how long to wait twice: whole seconds, not too few, and ms", () => {
    const { headers, body } = encode("rate_limit_exceeded", { retryAfterMs: 1_200 });
    expect(headers).toMatchObject({ "retry-after": "2", "retry-after-ms": "1200" });
    expect(errorIn(body)["retry_after_ms"]).toBe(1_200);
    expect(encode("rate_limit_exceeded").headers).not.toHaveProperty("retry-after");
  });

  it("tells an SDK whether to try again: the error's own word, else the table's, else nothing", () => {
    expect(encode("budget_exceeded").headers["x-should-retry"]).toBe("false");
    expect(encode("draining").headers["x-should-retry"]).toBe("true");
    expect(encode("rate_limit_exceeded").headers).not.toHaveProperty("x-should-retry");
    expect(encode("rate_limit_exceeded", { shouldRetry: false }).headers["x-should-retry"]).toBe("false");
  });

  it("carries what it knows and no empty member", () => {
    const attempts = [{ deployment: "a", class: "timeout" as const }];
    const details = {
      param: "n",
      reason: "denied",
      scope: "tenant:x",
      dimension: "usd" as const,
      resetsAt: "t",
      limit: 0,
      used: 0,
      attempts,
    };
    expect(errorIn(encode("budget_exceeded", details).body)).toEqual({
      message: "words",
      type: "insufficient_quota",
      param: "n",
      code: "budget_exceeded",
      request_id: "req_1",
      reason: "denied",
      scope: "tenant:x",
      dimension: "usd",
      resets_at: "t",
      limit: 0,
      used: 0,
      attempts,
    });
    expect(Object.keys(errorIn(encode("internal").body))).toEqual(["message", "type", "param", "code", "request_id"]);
  });

  it("never carries its cause or a stack", () => {
    const { body } = encode("internal", { cause: new Error("secret cause") });
    expect(body).not.toContain("secret cause");
    expect(body).not.toContain("at ");
  });

  it("names the methods of a path", () => {
    expect(encode("method_not_allowed", { allow: "POST" }).headers["allow"]).toBe("POST");
  });

  it("of the provider's own goes on word for word, under the gateway's status (ruling 18)", () => {
    const body = '{ "error" : {"message":"é", "n":1.0} }';
    const answer = encode("invalid_request", {
      upstream: { status: 422, contentType: "application/json", body: Buffer.from(body) },
    });
    expect(answer).toMatchObject({ status: 400, body });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["x-should-retry"]).toBe("false");
  });

  it("in a stream is one event and the end mark, whatever its words hold", () => {
    const text = encodeOpenAiStreamError(
      new GatewayError("all_providers_failed", 'line\n\ndata: [DONE]\n\n"'),
      "req_1",
    ).toString();
    const [event, done, rest] = text.split("\n\n");
    expect(errorIn((event ?? "").replace(/^data: /, ""))).toMatchObject({
      code: "all_providers_failed",
      request_id: "req_1",
    });
    expect([done, rest]).toEqual(["data: [DONE]", ""]);
  });
});

describe("gateway_metadata", () => {
  const metadata = { request_id: "req_1", cost_usd: 0.5, model: "modèle €" };

  function decorated(body: string): string {
    const out = decorateOpenAiReply(utf8AsLatin1(body), utf8AsLatin1(JSON.stringify(metadata)));
    return Buffer.from(out, "latin1").toString();
  }

  it("is the last member, and every other byte stays", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue()),
        fc.constantFrom(0, 1, 2),
        fc.constantFrom("", "\n", " \r\n"),
        (reply, indent, tail) => {
          const body = JSON.stringify(reply, null, indent) + tail;
          const out = decorated(body);
          const { gateway_metadata, ...rest } = JSON.parse(out) as Record<string, unknown>;
          expect(gateway_metadata).toEqual(metadata);
          expect(rest).toEqual(JSON.parse(body));
          const member = `"gateway_metadata":${JSON.stringify(metadata)}`;
          expect(out.replace(`,${member}`, "").replace(member, "")).toBe(body);
        },
      ),
    );
  });

  it.each(["{}", "{ }", "{\n\n}"])("has no comma before it in %j", (body) => {
    expect(JSON.parse(decorated(body))).toEqual({
      gateway_metadata: metadata,
    });
  });

  it("reads no large answer", () => {
    const body = `{"a":"${"x".repeat(16 * 1024 * 1024)}"}`;
    for (let i = 0; i < 10; i++) decorateOpenAiReply(body, JSON.stringify(metadata));
  });
});

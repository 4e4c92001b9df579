import { describe, expect, it } from "vitest";
import { GatewayError } from "../../core/errors.ts";
import { responsesCall } from "./fixtures/calls.ts";
import { openaiResponses } from "./index.ts";

const event = (error: GatewayError) => {
  const bytes = openaiResponses.encodeStreamError(error, "req_1", responsesCall()).toString();
  expect(bytes).toMatch(/^event: error\ndata: \{.*\}\n\n$/);
  return JSON.parse(bytes.slice(bytes.indexOf("{")));
};

describe("the error of a stream", () => {
  it("is one event, flat as documented and nested as SDKs look for it", () => {
    expect(event(new GatewayError("overloaded", "busy", { retryAfterMs: 10 }))).toMatchObject({
      ...{ type: "error", code: "overloaded", message: "busy", param: null, sequence_number: 0 },
      error: {
        type: "service_unavailable",
        code: "overloaded",
        message: "busy",
        request_id: "req_1",
        retry_after_ms: 10,
      },
    });
  });

  it("has the provider's own words where they are the client's fault", () => {
    const body = Buffer.from(
      '{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded","param":"input"}}',
    );
    const upstream = { status: 400, contentType: "application/json", body };
    expect(event(new GatewayError("context_length_exceeded", "ours", { upstream }))).toMatchObject({
      ...{ code: "context_length_exceeded", message: "too long", param: "input" },
      error: { type: "invalid_request_error", message: "too long" },
    });
  });
});

describe("classifyFailure", () => {
  const classOf = (status: number, error: object): string =>
    openaiResponses.classifyFailure(status, {}, Buffer.from(JSON.stringify({ error })), 0).class;

  it("knows a missing item from a missing model", () => {
    const type = "invalid_request_error";
    expect(classOf(404, { type, param: "input", message: "Item with id 'rs_1' not found.", code: null })).toBe(
      "bad_request",
    );
    expect(classOf(404, { type, param: "model", message: "no such model", code: "model_not_found" })).toBe(
      "model_not_found",
    );
    expect(classOf(400, { type, param: "model", message: "x", code: "model_not_found" })).toBe("model_not_found");
    expect(
      classOf(400, { type, param: "previous_response_id", message: "x", code: "previous_response_not_found" }),
    ).toBe("bad_request");
    expect(classOf(400, { type, param: null, message: "x", code: "cyber_policy" })).toBe("content_filtered");
  });
});

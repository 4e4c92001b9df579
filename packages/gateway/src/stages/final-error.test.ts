import type { ErrorClass } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import type { ProviderFailure } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiEmbeddings } from "../protocols/openai-embeddings/index.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import { finalError } from "./final-error.ts";
import { openMeter } from "./meter.ts";

const call = chatCall();

/** As much of an attempt's record as the decision looks at. */
function record(
  failure: Partial<ProviderFailure> & { class: ErrorClass },
  name = "a",
  protocol = openaiChat,
): AttemptRecord {
  const config = {
    apiKey: new Secret("topsecret-key-1", "literal"),
    headers: { "x-org": new Secret("org-secret-22", "literal"), "x-mode": new Secret("fast", "literal") },
  };
  return {
    hop: { deployment: { name, provider: "p" }, provider: { config: config as unknown as ProviderConfig }, protocol },
    attempt: { meter: openMeter(0) },
    failure: { message: "secret words", httpStatus: null, retryAfterMs: null, ambiguous: false, ...failure },
  } as unknown as AttemptRecord;
}

const told = (...records: AttemptRecord[]) => finalError(call, records, false);
const answer = (status: number, body: unknown, contentType = "application/json") => ({
  status,
  contentType,
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
});

it("looks at the attempt that ended last, and not at one that lost a race", () => {
  const ended = (name: string, kind: ErrorClass, endedAt: number, more: Partial<AttemptRecord> = {}) => {
    const made = record({ class: kind }, name);
    return { ...made, attempt: { meter: { ...openMeter(0), endedAt } }, ...more } as unknown as AttemptRecord;
  };
  expect(told(ended("a", "overloaded", 20), ended("b", "provider_error", 10)).code).toBe("overloaded");
  expect(told(ended("a", "overloaded", 10), ended("b", "cancelled", 20, { superseded: true })).code).toBe("overloaded");
});

describe("the class of the last attempt decides (INTERFACE, Errors)", () => {
  it.each<[ErrorClass, number, string]>([
    ["rate_limited", 429, "rate_limit_exceeded"],
    ["overloaded", 503, "overloaded"],
    ["timeout", 504, "provider_timeout"],
    ["bad_request", 400, "invalid_request"],
    ["context_overflow", 400, "context_length_exceeded"],
    ["content_filtered", 400, "content_filter"],
    ["provider_error", 502, "all_providers_failed"],
    ["connection_failed", 502, "all_providers_failed"],
    ["invalid_response", 502, "all_providers_failed"],
    ["quota_exhausted", 502, "all_providers_failed"],
    ["auth_failed", 502, "all_providers_failed"],
    ["model_not_found", 502, "all_providers_failed"],
    ["cancelled", 499, "cancelled"],
  ])("%s → %i %s", (kind, status, code) => {
    const error = told(record({ class: "provider_error" }, "first"), record({ class: kind }, "last"));
    expect(error).toMatchObject({ status, code });
    expect(error.message).not.toContain("secret words");
    if (kind === "cancelled") return;
    expect(error.details.attempts).toEqual([
      { deployment: "first", class: "provider_error" },
      { deployment: "last", class: kind },
    ]);
  });

  it("a 413 is too large", () => {
    expect(told(record({ class: "bad_request", httpStatus: 413 }))).toMatchObject({
      status: 413,
      code: "request_too_large",
    });
  });

  it("a timeout inside a latency budget that is spent is the budget's", () => {
    const hurried = chatCall({ gateway: { latency_budget_ms: 300 } });
    expect(finalError(hurried, [record({ class: "timeout" })], true)).toMatchObject({
      status: 504,
      code: "latency_budget_exhausted",
    });
    expect(finalError(hurried, [record({ class: "timeout" })], false)).toMatchObject({ code: "provider_timeout" });
    expect(finalError(call, [record({ class: "timeout" })], true)).toMatchObject({ code: "provider_timeout" });
  });

  it("no attempt, or none that failed, is the gateway's own fault", () => {
    expect(told()).toMatchObject({ code: "internal" });
    expect(told({ ...record({ class: "timeout" }), failure: null })).toMatchObject({ code: "internal" });
  });
});

describe("what an SDK is told of trying again", () => {
  it.each<[ErrorClass, boolean]>([
    ["provider_error", false],
    ["timeout", false],
    ["bad_request", false],
    ["content_filtered", false],
    ["quota_exhausted", false],
    ["rate_limited", true],
    ["overloaded", true],
  ])("%s, tried once: %s", (kind, again) => {
    expect(told(record({ class: kind })).details.shouldRetry).toBe(again);
    // What has been retried here is not retried again there: never squared.
    expect(told(record({ class: kind }), record({ class: kind })).details.shouldRetry).toBe(false);
  });

  it.each([
    [20_000, 20_000],
    [null, 1_000],
    [0, 1_000],
  ])("a provider that asks for %s ms is given %i", (retryAfterMs, ms) => {
    expect(told(record({ class: "rate_limited", retryAfterMs })).details).toMatchObject({
      retryAfterMs: ms,
      scope: "provider:p",
      dimension: "requests",
    });
    expect(told(record({ class: "overloaded", retryAfterMs })).details.retryAfterMs).toBe(ms);
  });

  it("other failures have no time", () => {
    expect(told(record({ class: "provider_error", retryAfterMs: 5_000 })).details.retryAfterMs).toBeUndefined();
  });
});

describe("a provider's own refusal", () => {
  const refusal = answer(400, '{ "error" : {"message":"bad n: 1.0", "code":"invalid_value"} }');

  it.each<ErrorClass>(["bad_request", "context_overflow", "content_filtered"])(
    "as %s is shown word for word",
    (kind) => {
      expect(told(record({ class: kind, upstream: refusal })).details.upstream).toEqual(refusal);
    },
  );

  it.each<ErrorClass>(["rate_limited", "overloaded", "auth_failed", "model_not_found", "quota_exhausted", "timeout"])(
    "as %s is not: it is not about the request",
    (kind) => {
      expect(told(record({ class: kind, upstream: refusal })).details.upstream).toBeUndefined();
    },
  );

  it("of what its model wrote is shown too, as a 400 (Groq), and a fault of its own is not", () => {
    expect(told(record({ class: "provider_error", upstream: refusal }))).toMatchObject({
      status: 400,
      details: { upstream: refusal },
    });
    expect(told(record({ class: "provider_error", upstream: answer(500, { error: {} }) }))).toMatchObject({
      status: 502,
    });
    expect(
      told(record({ class: "provider_error", upstream: answer(424, { error: {} }) })).details.upstream,
    ).toBeUndefined();
  });

  it.each([
    ["in another dialect", record({ class: "bad_request", upstream: refusal }, "a", openaiEmbeddings)],
    ["that is empty", record({ class: "bad_request", upstream: answer(400, "") })],
    ["that is a page", record({ class: "bad_request", upstream: answer(400, "<html>", "text/html") })],
    ["that is a bare word", record({ class: "bad_request", upstream: answer(400, '"no"') })],
    ["that calls itself a server's fault", record({ class: "context_overflow", upstream: answer(500, { error: {} }) })],
    ["that was not kept", record({ class: "bad_request" })],
  ])("%s is told in the gateway's words", (_name, failed) => {
    const error = told(failed);
    expect(error.status).toBe(400);
    expect(error.details.upstream).toBeUndefined();
  });

  it.each(["text/html", "application/octet-stream", "application/json\r\nset-cookie: a=b", ""])(
    "under content type %j is called JSON",
    (type) => {
      expect(
        told(record({ class: "bad_request", upstream: answer(400, { error: {} }, type) })).details.upstream
          ?.contentType,
      ).toBe("application/json");
    },
  );

  describe("is cleaned of", () => {
    const cleaned = (text: string): string =>
      told(
        record({ class: "bad_request", upstream: answer(400, { error: { message: text } }) }),
      ).details.upstream?.body.toString() ?? "";

    it.each([
      ["the provider's key", "key topsecret-key-1 is bad"],
      ["a configured header's value", "organisation org-secret-22 unknown"],
      ["an OpenAI key", "sk-proj-abcdEFGH1234_5678-xyz"],
      ["one half masked", "Incorrect API key provided: sk-ab************wxyz."],
      ["a Groq key", "gsk_abcdefgh12345678"],
      ["an xAI key", "xai-abcdefgh12345678"],
      ["a Google key", "AIzaSyA1234567890abcdefg"],
      ["a Hugging Face token", "hf_abcdefghijklmnop"],
    ])("%s", (_name, text) => {
      const shown = cleaned(text);
      expect(shown).toContain("***");
      expect(shown).not.toMatch(/topsecret|org-secret|abcd|wxyz|SyA12345/);
    });

    it.each([
      "skeletons and skyscrapers in a skateboarding hfollow",
      "messages[0].content: xailment fwellbeing r8something",
      "mode fast is unknown",
      "sk-1",
      "task-management, risk_assessment",
    ])("nothing in %j", (text) => {
      expect(cleaned(text)).toBe(JSON.stringify({ error: { message: text } }));
    });
  });
});

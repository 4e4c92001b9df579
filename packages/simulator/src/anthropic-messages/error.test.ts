import { expect, test } from "vitest";
import { problem } from "../models/problem.ts";
import { errorBody, errorStep } from "./error.ts";

test("what is too large is refused at the edge, which knows no request; within a stream all is an error event", () => {
  const large = problem("too_large", 413, "Request exceeds the maximum size");
  expect(JSON.parse(errorBody(large, "req_1"))).toEqual({
    error: { type: "request_too_large", message: "Request exceeds the maximum size" },
  });
  const { event, data } = errorStep(problem("overloaded", 529, "Overloaded"), "req_1");
  expect([event, JSON.parse(data)]).toEqual([
    "error",
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" }, request_id: "req_1" },
  ]);
});

test("a type and a shape that the model name asks for win", () => {
  const asked = problem("server", 500, "m", { type: "odd_error" });
  expect(JSON.parse(errorBody(asked, "r")).error).toEqual({ type: "odd_error", message: "m" });
  expect(JSON.parse(errorBody({ ...asked, shape: "detail" }, "r"))).toEqual({ detail: "m" });
});

import { describe, expect, it } from "vitest";
import { LIMITS } from "../core/limits.ts";
import { AnswerHeads } from "./answer-heads.ts";

describe("heads of whole answers", () => {
  const lines = (head: string | null): string[] => head?.replace(/Date: .*/, "Date: D").split("\r\n") ?? [];
  const end = ["content-length: 5", "Date: D", "Connection: keep-alive", "Keep-Alive: timeout=75", "", ""];

  it("are right again when a value changes, and when it changes back", () => {
    const heads = new AnswerHeads(75_999);
    for (const value of ["1", "1", "2", "1", ""]) {
      expect(lines(heads.head(200, ["x-a", value], 5))).toEqual(["HTTP/1.1 200 OK", `x-a: ${value}`, ...end]);
      expect(heads.head(200, ["x-a", "1\r\nx-b: 2"], 5)).toBeNull();
      expect(heads.head(200, ["X-A", `${value}\u0100`], 5)).toBeNull();
    }
  });

  it("are right of more names than are kept, and never of bad ones", () => {
    const heads = new AnswerHeads(75_000);
    const names = Array.from({ length: LIMITS.answerHeaderNamesMax + 20 }, (_, index) => `x-${index}`);
    for (const value of ["a", "b", "b"]) {
      for (const name of names) {
        expect(lines(heads.head(404, [name, value], 5))).toEqual([
          "HTTP/1.1 404 Not Found",
          `${name}: ${value}`,
          ...end,
        ]);
      }
      for (const name of ["", "x y", "x:", "é", "x\r\ny", "Date", "connection"])
        expect(heads.head(200, [name, value], 5)).toBeNull();
    }
  });

  it("have a date of this second", () => {
    const heads = new AnswerHeads(1_000);
    const before = Math.floor(Date.now() / 1000) * 1000;
    const told = Date.parse(/Date: (.*)\r/.exec(heads.head(200, [], 0) ?? "")?.[1] ?? "");
    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now());
  });
});

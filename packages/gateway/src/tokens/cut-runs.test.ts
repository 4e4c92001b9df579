import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { cutRuns } from "./cut-runs.ts";
import { slicesOf } from "./slices.ts";

const PLAIN = { disallowedSpecial: new Set<string>() };
const count = (pieces: readonly string[]): number => pieces.reduce((sum, piece) => sum + countTokens(piece, PLAIN), 0);
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Whatever makes long words: letters, signs, marks on signs, spaces, pairs. */
const stuff = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        "a",
        "ö",
        "中",
        "!",
        "!\u0301",
        "\u0301",
        " ",
        "\n",
        "1",
        "😀",
        "𠀀",
        "aB",
        "'s",
        "\u3000",
        "\t!",
      ),
      fc.integer({ min: 1, max: 600 }),
    ),
    { maxLength: 5 },
  )
  .map((runs) => runs.map(([text, times]) => text.repeat(times)).join(""));

describe("long runs", () => {
  it("are cut at 256 characters, and nothing is lost", () => {
    fc.assert(
      fc.property(stuff, (text) => {
        const pieces = cutRuns(text);
        expect(pieces.join("")).toBe(text);
        for (const piece of pieces) {
          expect(LONE.test(piece)).toBe(false);
          for (const run of piece.match(/[\p{L}\p{M}]+|[^\s\p{L}\p{N}]+|\s+/gu) ?? []) {
            expect(run.length).toBeLessThanOrEqual(258);
          }
        }
      }),
    );
  });

  it.each([["The quick brown fox jumps. ".repeat(500)], ["x".repeat(256)], [""], ["12".repeat(1_000)]])(
    "that are none leave the text whole",
    (text) => {
      expect(cutRuns(text)).toEqual([text]);
    },
  );

  it("cost a bounded time, whatever they are of", () => {
    const startedAt = process.cpuUsage().user;
    for (const unit of ["a", "中", "!\u0301", "\u3000", "😀"]) count(cutRuns(unit.repeat(30_000)));
    // Uncut, one such text takes seconds.
    expect(process.cpuUsage().user - startedAt).toBeLessThan(5_000_000);
  });
});

describe("slices", () => {
  const words = fc
    .array(
      fc.constantFrom(
        "the",
        " quick",
        " Brown",
        "\n\n",
        "  ",
        " fox's",
        " 1234",
        " 中文字",
        "!?",
        " !",
        " 😀",
        "\t",
        " a",
      ),
      {
        maxLength: 200,
      },
    )
    .map((parts) => parts.join(""));

  it("join to the text, are no longer than asked, and part no pair", () => {
    fc.assert(
      fc.property(fc.oneof(words, stuff), fc.integer({ min: 4, max: 200 }), (text, chars) => {
        const slices = slicesOf(text, chars);
        expect(slices.join("")).toBe(text);
        for (const slice of slices) {
          expect(slice.length).toBeLessThanOrEqual(chars);
          expect(LONE.test(slice)).toBe(false);
        }
      }),
    );
  });

  it("have as many tokens as the text, cut where words begin", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(" the", " quick", " fox's", " Brown", " 12", ", and", "\n then", " 中文", "! so"), {
          maxLength: 300,
        }),
        (parts) => {
          const text = parts.join("");
          expect(count(slicesOf(text, 64))).toBe(count([text]));
        },
      ),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tableText } from "./table.ts";
import { fitted, printable, textWidth } from "./terminal-text.ts";

const plain = { columns: null, colour: false };

describe("a table", () => {
  it("aligns its columns by what a terminal shows", () => {
    const columns = [{ title: "NAME" }, { title: "N", align: "right" as const }];
    const rows = [
      ["日本", "1"],
      ["abc", "22"],
      [null, ""],
    ];
    expect(tableText({ columns, rows, foot: ["all", "23"] }, plain)).toBe(
      "NAME   N\n日本   1\nabc   22\n-      -\n----  --\nall   23\n",
    );
  });

  it("never is wider than the terminal while a column can give way", () => {
    const cell = fc.string({ unit: "grapheme", maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 }),
        fc.integer({ min: 30, max: 120 }),
        (rows, width) => {
          const columns = [{ title: "A" }, { title: "B" }, { title: "C", align: "right" as const }];
          const text = tableText({ columns, rows }, { columns: width, colour: false });
          for (const line of text.trimEnd().split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it("keeps whole what must be", () => {
    const columns = [{ title: "ID", keep: true }, { title: "B" }];
    const text = tableText({ columns, rows: [["x".repeat(50), "y".repeat(50)]] }, { columns: 40, colour: false });
    expect(text).toContain("x".repeat(50));
    expect(text).toContain("yyyyy…");
  });
});

it("cuts a text to a width and marks the cut", () => {
  expect(fitted("abcdef", 4)).toBe("abc…");
  expect(fitted("日本語", 4)).toBe("日…");
  expect(fitted("abcd", 4)).toBe("abcd");
});

it("shows control characters as what they are not", () => {
  expect(printable("a\u001b[2Jb\u202ec\n")).toBe("a\ufffd[2Jb\ufffdc\ufffd");
});

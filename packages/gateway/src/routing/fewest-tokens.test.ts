import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { fewestTokens } from "./fewest-tokens.ts";

const here = new URL(".", import.meta.url);
const repository = (path: string): string => readFileSync(new URL(`../../../../${path}`, here), "utf8");

/** As a client would send it. */
const bodyOf = (text: string): Buffer =>
  Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] }));

/** What the message alone comes to: what a vendor's own frame adds is not counted. */
const tokensOf = (text: string): number => encode(text).length;

const prose = {
  english: "The quick brown fox jumps over the lazy dog while the committee deliberates on infrastructure. ",
  german: "Die Donaudampfschifffahrtsgesellschaft verabschiedete gestern umfangreiche Verbesserungsvorschläge. ",
  french: "Aujourd'hui, l'administration a présenté ses recommandations concernant le développement durable. ",
  hindi: "यह एक लंबा वाक्य है जो यह जाँचता है कि अनुमान किसी भी लिपि में बहुत अधिक न हो जाए। ",
  arabic: "هذه جملة طويلة للتحقق من أن التقدير لا يتجاوز العدد الحقيقي للرموز في أي لغة كانت. ",
  thai: "ประโยคนี้ใช้ทดสอบว่าการประมาณจำนวนโทเค็นไม่มากเกินกว่าความเป็นจริงในทุกภาษา ",
  chinese: "这是一个很长的句子,用来检查估计值在任何文字中都不会超过真实的词元数量。",
  korean: "이 문장은 어떤 언어에서도 추정치가 실제 토큰 수를 넘지 않는지 확인하기 위한 것입니다. ",
  russian: "Это длинное предложение проверяет, что оценка ни на каком языке не превышает действительного числа. ",
};

describe("the fewest tokens a body can be", () => {
  test.each(Object.entries(prose))("are not more than it is: %s", (_, sentence) => {
    const text = sentence.repeat(200);
    expect(fewestTokens(bodyOf(text), 0)).toBeLessThanOrEqual(tokensOf(text));
    // Python writes everything beyond ASCII as escapes.
    const escaped = bodyOf(text)
      .toString()
      .replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
    expect(fewestTokens(Buffer.from(escaped), 0)).toBeLessThanOrEqual(tokensOf(text));
  });

  test.each(["README.md", "STYLE.md", "packages/gateway/src/app.ts", "packages/gateway/sluicegate.schema.json"])(
    "are not more than it is: %s",
    (path) => {
      const text = repository(path);
      const fewest = fewestTokens(bodyOf(text), 0);
      expect(fewest).toBeLessThanOrEqual(tokensOf(text));
      // And it is of use: more than a third of them.
      expect(fewest).toBeGreaterThan(tokensOf(text) / 3);
    },
  );

  test.each([" ", "-", "=", "a", "x", "0", "\n", "\t", "█", "ab"])("are few for a run of %j", (piece) => {
    const text = piece.repeat(5_000);
    expect(fewestTokens(bodyOf(text), 0)).toBeLessThanOrEqual(tokensOf(text) + 15);
  });

  test("leave out data that is no text", () => {
    const data = Buffer.from(Array.from({ length: 30_000 }, (_, i) => (i * 7_919) % 251)).toString("base64");
    expect(fewestTokens(bodyOf(data), data.length)).toBeLessThan(30);
    expect(fewestTokens(Buffer.from('{"a'), 100)).toBe(0);
  });

  test("survive bytes that are cut in a character or an escape", () => {
    for (const cut of ['"\\', '"\\u09', "\xe0\xa4"]) expect(fewestTokens(Buffer.from(cut, "latin1"), 0)).toBe(0);
  });
});

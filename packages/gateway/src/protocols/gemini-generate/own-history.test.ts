import { expect, test } from "vitest";
import { inOnePiece } from "../../core/pieces.ts";
import type { Target } from "../protocol.ts";
import { proofOf } from "./proof.ts";
import { decodeRequest, passRequest } from "./request.ts";

const FOREIGN = proofOf({ dialect: "anthropic-messages", value: "sig" }, "text");
const USER = { role: "user", parts: [{ text: "hi" }] };
const CALL = { functionCall: { id: "c1", name: "f", args: {} } };

function passed(parts: object[], model = "gemini-3-flash"): unknown {
  const raw = Buffer.from(JSON.stringify({ contents: [USER, { role: "model", parts }, USER] }));
  const call = decodeRequest({
    raw,
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path: { alias: "a", query: "" },
  });
  const target = { model, quirks: {}, maxOutputTokens: null } as unknown as Target;
  const body = JSON.parse(inOnePiece(passRequest(call, target)).toString()) as { contents: { parts: unknown[] }[] };
  return body.contents.length === 3 ? body.contents[1]?.parts : null;
}

test("thoughts that another provider made do not go to Google, in either spelling", () => {
  const thought = { text: "hm", thought: true, thoughtSignature: FOREIGN };
  const older = { text: "hm", thought: true, thought_signature: FOREIGN };
  expect(passed([thought, older, { text: "so" }])).toEqual([{ text: "so" }]);
  expect(passed([thought])).toBeNull();
});

test("a call stays without the proof, and says to a model that wants one that there is none", () => {
  const parts = [{ ...CALL, thoughtSignature: FOREIGN }, CALL];
  expect(passed(parts)).toEqual([{ ...CALL, thoughtSignature: "skip_thought_signature_validator" }, CALL]);
  expect(passed(parts, "gemini-2.5-flash")).toEqual([CALL, CALL]);
});

test("Google's own proofs stay, and so does an unsigned call of a history without foreign ones", () => {
  const own = [{ text: "hm", thought: true, thoughtSignature: "T3du" }, CALL];
  expect(passed(own)).toEqual(own);
  const mixed = [
    { text: "hm", thought: true, thoughtSignature: FOREIGN },
    { ...CALL, thoughtSignature: "T3du" },
  ];
  expect(passed(mixed)).toEqual([{ ...CALL, thoughtSignature: "T3du" }]);
});

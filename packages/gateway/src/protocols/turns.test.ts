import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../../test/support/thrown.ts";
import { answersNothing, type Side, Turns } from "./turns.ts";

const text = (words: string): { text: string } => ({ text: words });
const begun = (): Turns => new Turns((id) => `wire-${id}`);

describe("turns", () => {
  test("alternate from a user's on, whoever spoke, and nothing is lost or moved to another side", () => {
    const said = fc.tuple(
      fc.constantFrom<Side>("user", "assistant"),
      fc.array(fc.constantFrom("a", "b", " "), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(said, { maxLength: 8 }), fc.boolean(), (all, prefill) => {
        const turns = begun();
        for (const [role, words] of all) turns.say(role, words.map(text));
        const ended = turns.end(text, prefill);
        expect(ended.every(({ role }, index) => role === (index % 2 === 0 ? "user" : "assistant"))).toBe(true);
        expect(ended.every(({ content }) => content.length > 0)).toBe(true);
        if (!prefill) expect(ended.at(-1)?.role ?? "user").toBe("user");
        for (const side of ["user", "assistant"] as const) {
          const wordsOf = ended
            .filter(({ role }) => role === side)
            .flatMap(({ content }) => content.map((b) => b["text"]));
          const own = all.flatMap(([role, words]) => (role === side ? words : []));
          const kept = wordsOf.filter((words) => words !== "." && words !== "Continue.");
          // The last words of an answer that is gone on with may not end in white space.
          expect(kept.join("").trimEnd()).toBe(own.join("").trimEnd());
        }
      }),
    );
  });

  test("results stand before what else their turn holds, under the ids of their calls", () => {
    const turns = begun();
    turns.say("user", [text("go")]);
    turns.say("assistant", [{ call: turns.call("c") }, { call: turns.call("d") }]);
    turns.say("user", [text("and")]);
    turns.say("user", [{ result: turns.result("d") }, { result: turns.result("c") }], true);
    expect(turns.end(text, false).at(-1)?.content).toEqual([{ result: "wire-d" }, { result: "wire-c" }, text("and")]);
  });

  test("an answer that is gone on with does not end in white space", () => {
    const turns = begun();
    turns.say("assistant", [text("so it \n")]);
    expect(turns.end(text, true)).toEqual([
      { role: "user", content: [text(".")] },
      { role: "assistant", content: [text("so it")] },
    ]);
  });

  test("a call that nobody answers is refused by its id, where the next answer begins or at the end", () => {
    const asked = (): Turns => {
      const turns = begun();
      turns.say("assistant", [{ call: turns.call("c1") }]);
      return turns;
    };
    const fault = { code: "invalid_request", param: "messages" };
    expect(refusalOf(() => asked().end(text, false))).toMatchObject(fault);
    const passed = asked();
    passed.say("user", [text("never mind")]);
    expect(() => passed.call("c2")).toThrow('the tool call "c1" has no result in the message after it');
  });

  test("a result of no call, of one in an earlier turn, or a second one is refused by its id", () => {
    const turns = begun();
    expect(() => turns.result("c1")).toThrow('the tool result for "c1" answers no tool call');
    turns.say("assistant", [{ call: turns.call("c1") }]);
    turns.result("c1");
    expect(() => turns.result("c1")).toThrow("answers no tool call of the assistant message before it");
    turns.say("user", [text("on")]);
    turns.say("assistant", [{ call: turns.call("c2") }]);
    expect(() => turns.result("c1")).toThrow("answers no tool call");
  });

  test("an id that is quoted is cut", () => {
    expect(answersNothing("x".repeat(500), "anything").message.length).toBeLessThan(200);
  });
});

import { format, inspect } from "node:util";
import { expect, it } from "vitest";
import { Secret } from "./secret.ts";

const secret = new Secret("sk-very-secret", "env:OPENAI_API_KEY");

it.each([
  ["a template", () => `${secret}`],
  ["a sum of strings", () => `key: ${String(secret)}`],
  ["JSON", () => JSON.stringify({ list: [secret] })],
  ["inspect", () => inspect({ deep: { secret } }, { depth: 5, showHidden: true })],
  ["printf", () => format("%s %o %j %O", secret, secret, secret, secret)],
  ["a copy of its members", () => JSON.stringify({ ...secret })],
  ["its own names", () => Object.entries(secret).join()],
  ["an error's message", () => new Error(`bad key ${secret}`).message],
])("%s does not give it out", (_name, print) => {
  expect(print()).not.toContain("very-secret");
});

it("gives itself out when asked, and says where it came from", () => {
  expect(secret.reveal()).toBe("sk-very-secret");
  expect(secret.origin).toBe("env:OPENAI_API_KEY");
});

import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { simulate, until } from "../../test/kit.ts";
import { MODELS } from "../models/resolve.ts";

/** Those that take long or never end, and what says the same of two dialects in different words. */
const APART = ["hang", "prestall", "mirror", "slow", "endlessline"];
const NAMES = [...MODELS.keys()].filter((name) => !APART.includes(name));
const PLAIN = { model: "", messages: [{ role: "user", content: "alpha beta gamma delta" }] };
const OPTIONS = [
  "slow?first_token=1ms&",
  "endlessline?bytes=1000&",
  "errorafter?status=429&done=1&",
  "echo?chunk=3&crlf=1&",
];

/** What became of a call: its status, how its body ended, and the bill without what differs by nature. */
async function outcome(url: string, body: object): Promise<unknown[]> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) }).catch(() => null);
  if (response === null) return ["no answer"];
  const text = await response.text().catch(() => null);
  return [response.status, response.headers.get("content-type"), text === null ? "broken" : "ended"];
}

for (const stream of [false, true]) {
  test(`every model fares in responses as it does in chat, stream: ${stream}`, async () => {
    const simulator = await simulate();
    for (const name of [...NAMES, ...OPTIONS]) {
      const model = name.includes("?") ? `${name}output=40` : `${name}?output=40`;
      const chat = { ...PLAIN, model, stream, ...(stream && { stream_options: { include_usage: true } }) };
      const responses = { model, stream, input: "alpha beta gamma delta" };
      const expected = await outcome(`${simulator.url}/v1/chat/completions`, chat);
      const seen = await outcome(`${simulator.url}/v1/responses`, responses);
      expect([model, ...seen]).toEqual([model, ...expected]);
      const bills = () =>
        simulator.invoice().lines.map(({ n: _n, request_id: _id, path: _path, dialect: _dialect, ...line }) => line);
      // A paced answer is marked as finished just after the peer has its last byte.
      await until(() => isDeepStrictEqual(bills()[0], bills()[1])).catch(() => undefined);
      const [first, second, ...rest] = bills();
      expect([model, second]).toEqual([model, first]);
      expect(rest).toEqual([]);
      simulator.reset();
    }
  });
}

// The mix of `npm run soak`: one client's mistakes, hang-ups and retries among many good calls. No two requests say the same
// things about themselves, so whatever the gateway keeps by key, name, session or header has something new to keep.
import { requestBytes } from "./connection.mjs";
import { chatBody, LARGE_BODY_BYTES, SMALL_BODY_BYTES, streamBody, translatedBody } from "./payloads.mjs";

/** The callers, and the key that reads metrics. */
export const CALLERS = ["one", "two", "three"].map((id) => ({ id, key: `sg_soak_${id}_${"s".repeat(40)}` }));
export const ADMIN_KEY = `sg_soak_admin_${"a".repeat(40)}`;

const EVENTS = 20;
const INTERVAL_MS = 10;
const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";

/**
 * One kind of request: its share in a hundred; `make(n)` gives path, headers and body; `status` is what must come back;
 * `leaveAfter` is how many bytes of the answer's body the client waits for before it hangs up. The kinds with `row` leave
 * one row each in the ledger, under the alias they name.
 */
export const MIX = [
  { name: "small", share: 40, status: 200, row: "plain", make: (n) => chat(n, "plain", chatBody(SMALL_BODY_BYTES)) },
  {
    name: "limited",
    share: 10,
    status: 200,
    row: "limited",
    make: (n) => chat(n, "limited", chatBody(SMALL_BODY_BYTES)),
  },
  { name: "large", share: 5, status: 200, row: "plain", make: (n) => chat(n, "plain", chatBody(LARGE_BODY_BYTES)) },
  {
    name: "stream",
    share: 12,
    status: 200,
    row: "plain",
    make: (n) => chat(n, "plain", streamBody(EVENTS, INTERVAL_MS)),
  },
  { name: "translated", share: 8, status: 200, row: "limited", make: (n) => messages(n, "limited") },
  { name: "keyed", share: 4, status: 200, row: "plain", make: (n) => keyed(n) },
  { name: "faulty", share: 3, status: [502, 503], row: "faulty", make: (n) => chat(n, "faulty", failingBody()) },
  {
    name: "hangs up in a stream",
    share: 6,
    leaveAfter: 700,
    make: (n) => chat(n, "gone", streamBody(EVENTS, INTERVAL_MS)),
  },
  { name: "hangs up at once", share: 4, leaveAfter: 0, make: (n) => chat(n, "gone", chatBody(SMALL_BODY_BYTES)) },
  {
    name: "wrong key",
    share: 3,
    status: 401,
    make: (n) => chat(n, "plain", chatBody(SMALL_BODY_BYTES), `sg_wrong_${n}`),
  },
  { name: "unknown model", share: 3, status: 404, make: (n) => chat(n, `unknown-${n}`, chatBody(SMALL_BODY_BYTES)) },
  {
    name: "broken JSON",
    share: 2,
    status: 400,
    make: (n) => ({ ...chat(n, "plain", "{}"), body: `{"model":"plain",${n}` }),
  },
];

/** The bytes of the `n`th request of a kind. */
export function soakBytes(port, kind, n) {
  return requestBytes({ port, ...kind.make(n) });
}

/** A kind by its share: `at` is from 0 to 99. */
export function kindAt(at) {
  let left = at;
  return MIX.find(({ share }) => {
    left -= share;
    return left < 0;
  });
}

function chat(n, model, text, key = callerOf(n)) {
  const body = JSON.parse(text);
  body.model = model;
  body.user = `user-${n}`;
  body.gateway = { session_id: `session-${Math.floor(n / 8)}`, agent: `agent-${n % 5_000}`, tags: { n: String(n) } };
  const headers = { authorization: `Bearer ${key}`, "x-request-id": `soak-${n}`, [`x-soak-${n % 1_000}`]: String(n) };
  return { path: CHAT, headers, body: JSON.stringify(body) };
}

function messages(n, model) {
  const body = { ...JSON.parse(translatedBody(EVENTS, INTERVAL_MS)), model, metadata: { user_id: `user-${n}` } };
  const headers = { "x-api-key": callerOf(n), "anthropic-version": "2023-06-01" };
  return { path: MESSAGES, headers, body: JSON.stringify(body) };
}

/** Each key is used twice in a row, with the same request: the second call joins the first or is answered from what was kept of it. */
function keyed(n) {
  const first = n - (n % 2);
  const { headers, ...rest } = chat(first, "plain", chatBody(SMALL_BODY_BYTES));
  return { ...rest, headers: { ...headers, "idempotency-key": `soak-key-${first}` } };
}

function failingBody() {
  const body = JSON.parse(chatBody(SMALL_BODY_BYTES));
  body.messages[0].content = "bench:fail: You are a careful assistant.";
  return JSON.stringify(body);
}

function callerOf(n) {
  return CALLERS[n % CALLERS.length].key;
}

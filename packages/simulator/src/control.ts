import { type Exchange, sendJson } from "./exchange.ts";
import type { Hit } from "./records/requests.ts";
import { ScriptError } from "./script/rule.ts";
import type { State } from "./state.ts";

const SECRET_HEADERS = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];

type Control = (state: State, exchange: Exchange) => void;

/** The simulator's own endpoints, which speak no provider's format: path, then method. */
export const CONTROLS: Readonly<Record<string, Readonly<Record<string, Control>>>> = {
  "/health": { GET: (_state, { res }) => sendJson(res, 200, { status: "ok" }) },
  "/invoice": {
    GET: (state, { res }) => sendJson(res, 200, state.invoice.report()),
    DELETE: (state, { res }) => {
      state.invoice.reset();
      res.writeHead(204).end();
    },
  },
  "/requests": {
    GET: (state, { res }) => {
      const report = state.requests.report();
      sendJson(res, 200, { ...report, recent: report.recent.map(masked) });
    },
    DELETE: (state, { res }) => {
      state.requests.reset();
      res.writeHead(204).end();
    },
  },
  "/script": {
    GET: (state, { res }) => sendJson(res, 200, { rules: state.script.list() }),
    POST: addRules,
    DELETE: (state, { res }) => {
      state.script.clear();
      res.writeHead(204).end();
    },
  },
};

function addRules(state: State, { res, body }: Exchange): void {
  try {
    if (body === undefined) throw new ScriptError("the body is not valid JSON");
    sendJson(res, 200, { rules: state.script.add(body) });
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    sendJson(res, 400, { error: { message: error.message, type: "invalid_script", param: null, code: null } });
  }
}

/** Keys stay out of what goes over the network; in process they can be read. */
function masked(hit: Hit): Hit {
  const headers = { ...hit.headers };
  for (const name of SECRET_HEADERS) if (headers[name] !== undefined) headers[name] = "***";
  return { ...hit, headers };
}

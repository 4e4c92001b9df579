import { answer } from "./answer.ts";
import type { Ask } from "./ask.ts";
import type { Behaviour } from "./behaviour.ts";
import { dressed, ERROR_OPTIONS, problemOfStatus } from "./error-models.ts";
import type { Draft, Fault, Position } from "./plan.ts";
import type { Settings } from "./settings.ts";
import { countPieces, fillerPart } from "./text.ts";

const HTML = "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n";
const ENDLESS_BYTES = 64 * 1024 * 1024;

/** Answers as usual, in more than `at` deltas, with the fault put in. */
function faulty(ask: Ask, settings: Settings, fault: Fault): Draft {
  const draft = answer(ask, settings);
  const at = "at" in fault && typeof fault.at === "number" ? fault.at : 0;
  if (countPieces(draft.parts) > at) return { ...draft, fault };
  return { parts: [fillerPart("text", at + 2)], finish: "stop", fault };
}

function breaksAt(about: string, kind: "stall" | "reset", otherwise: Position): Behaviour {
  return {
    about,
    own: ["after"],
    draft: (ask, settings) => faulty(ask, settings, { kind, at: settings.after ?? otherwise }),
  };
}

function replaced(body: string, contentType: string, settings: Settings): Draft {
  return { parts: [], finish: "stop", fault: { kind: "body", status: settings.status ?? 200, contentType, body } };
}

function errorInBand(ask: Ask, settings: Settings, at: Position): Draft {
  const problem = dressed(problemOfStatus(settings.status ?? 500), settings);
  return faulty(ask, settings, {
    kind: "error",
    at,
    problem,
    named: settings.named === true,
    done: settings.done === true,
  });
}

/** Models that break the wire. Stream positions count deltas; a JSON answer breaks in the middle of its body. */
export const FAULT_MODELS: Readonly<Record<string, Behaviour>> = {
  hang: breaksAt("never answers; with `after`, stalls after that many deltas", "stall", "nothing"),
  reset: breaksAt("TCP reset before answering; with `after`, after that many deltas", "reset", "nothing"),
  cut: {
    about: "ends after `after` (3) deltas without finish reason; with `fin`, without ending the HTTP body either",
    own: ["after", "fin"],
    draft: (ask, settings) =>
      faulty(ask, settings, { kind: settings.fin === true ? "fin" : "cut", at: settings.after ?? 3 }),
  },
  prestall: {
    about: "opens the stream with `preamble` (1) events that carry no output, 0 = headers only, then stalls",
    draft: (ask, settings) => {
      const openings = settings.preamble ?? 1;
      return faulty(ask, settings, { kind: "stall", at: openings === 0 ? "headers" : 0, openings });
    },
  },
  nodone: {
    about: "a stream without the end marker",
    draft: (ask, settings) => ({ ...answer(ask, settings), endMarker: false }),
  },
  broken: {
    about: "invalid JSON in the stream after `after` (2) deltas, which then goes on",
    own: ["after"],
    draft: (ask, settings) => faulty(ask, settings, { kind: "broken", at: settings.after ?? 2 }),
  },
  half: {
    about: "half of a JSON answer, or of the first event, properly ended",
    draft: (ask, settings) => faulty(ask, settings, { kind: "half" }),
  },
  html: {
    about: "an HTML page with `status` (200)",
    own: ["status"],
    draft: (_ask, settings) => replaced(HTML, "text/html; charset=utf-8", settings),
  },
  empty: {
    about: "an empty body with `status` (200)",
    own: ["status"],
    draft: (ask, settings) => replaced("", ask.stream ? "text/event-stream" : "application/json", settings),
  },
  endlessline: {
    about: "`bytes` (64 MiB) bytes without a newline",
    own: ["bytes"],
    draft: (ask, settings) => faulty(ask, settings, { kind: "endless", bytes: settings.bytes ?? ENDLESS_BYTES }),
  },
  error200: {
    about: "status 200 with an error body, or an error as the first event; `status` picks the error",
    own: ["status", "done", "named", ...ERROR_OPTIONS],
    draft: (ask, settings) => errorInBand(ask, settings, "headers"),
  },
  errorafter: {
    about: "an error event after `after` (3) deltas; `named` adds an event line, `done` the end marker",
    own: ["after", "status", "done", "named", ...ERROR_OPTIONS],
    draft: (ask, settings) => errorInBand(ask, settings, settings.after ?? 3),
  },
};

import type { Remains } from "../world/run.ts";
import { checkAnswers } from "./answers.ts";
import { checkAttempts } from "./attempts.ts";
import { tieUp } from "./cases.ts";
import { checkCeilings } from "./ceilings.ts";
import { checkHealth } from "./health.ts";
import { checkLeaks } from "./leaks.ts";
import { checkLedger } from "./ledger.ts";
import { checkMoney } from "./money.ts";
import { checkReplays } from "./replays.ts";
import { checkRouting } from "./routing.ts";
import { checkTimes } from "./times.ts";

/** Every promise, against everything that was seen from outside. */
export function checkAll(remains: Remains): void {
  // First: what is closed here leaves its last rows.
  checkLeaks(remains);
  const cases = tieUp(remains);
  checkLedger(remains, cases);
  checkRouting(remains, cases);
  checkHealth(remains, cases);
  checkCeilings(remains);
  checkReplays(remains, cases);
  for (const one of cases) {
    if (one.spec.sharedMark !== null) continue;
    checkAttempts(one, remains);
    checkMoney(one, remains);
    checkAnswers(one, remains);
    checkTimes(one, remains);
  }
}

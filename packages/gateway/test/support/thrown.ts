import { GatewayError } from "../../src/core/errors.ts";

/** What `act` throws. Fails when it throws nothing. */
function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

/** The GatewayError that `act` throws, as `code` and `param`: what a client can match on. */
export function refusalOf(act: () => unknown): { code: string; param: string | undefined; message: string } {
  const error = thrownBy(act);
  if (!(error instanceof GatewayError)) throw error;
  return { code: error.code, param: error.details.param, message: error.message };
}

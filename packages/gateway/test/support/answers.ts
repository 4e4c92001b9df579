import type { ErrorBody } from "@sluicegate/contract";
import { expect } from "vitest";

/** Traces of a stack, of a file or of this machine: nothing of them may reach a client. */
const INSIDES =
  /\n\s+at |node:internal|node_modules|\.[cm]?[jt]s:\d+|file:\/\/|\/packages\/|\/tmp\/|\bERR_[A-Z_]+|HPE_/;

/** What a client can see of an answer. */
export interface Seen {
  status: number;
  headers: { get(name: string): string | null };
  text: string;
}

/** An answer read to its end. */
export async function seen(response: Response): Promise<Seen> {
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Whether anything of the gateway's insides shows. */
export function expectNothingInside(answer: Seen): void {
  expect(answer.text).not.toMatch(INSIDES);
}

/** The `error` of an answer in OpenAI's shape, after checking what holds for every one of them. */
export async function errorOf(response: Response): Promise<ErrorBody & { reason?: string }> {
  return errorIn(await seen(response));
}

/** The same for an answer that has been read. */
export function errorIn(answer: Seen): ErrorBody & { reason?: string } {
  expectNothingInside(answer);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const { error } = JSON.parse(answer.text) as { error: ErrorBody & { reason?: string } };
  expect(error).toMatchObject({ message: expect.any(String), type: expect.any(String), code: expect.any(String) });
  expect(error).toHaveProperty("param");
  expect(error.request_id).toMatch(/^req_/);
  expect(answer.headers.get("x-request-id")).toBe(error.request_id);
  return error;
}

import { InvalidArgumentError } from "commander";
import { parseDate, parseDuration } from "../config/units.ts";

/** A TCP port. */
export function portOption(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("a port is a number from 0 to 65535.");
}

/** A whole number from 1 on. */
export function countOption(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError("this is a whole number from 1 on.");
}

/** A duration, in ms. */
export function durationOption(text: string): number {
  const ms = text === "0" ? 0 : parseDuration(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError("a duration is a number and a unit: 500ms, 10s, 5m, 24h, 90d.");
}

/** A day or a time, in epoch ms. */
export function dateOption(text: string): number {
  const ms = parseDate(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError("write a day as 2027-01-01 (UTC) or a time as 2027-01-01T09:00:00Z.");
}

/** Names with commas between them. */
export function namesOption(text: string): string[] {
  const names = text.split(",").flatMap((name) => name.trim() || []);
  if (names.length > 0) return names;
  throw new InvalidArgumentError("name at least one; put commas between several.");
}

import { z } from "zod";
import { LIMITS } from "../../core/limits.ts";
import { duration, size, text } from "./fields.ts";

/** `gateway:` what the gateway itself is told. */
export const gatewaySchema = z
  .strictObject({
    listen: text("is not host:port, as in `127.0.0.1:8080`")
      .describe("Address to serve on, as host:port. Any address but a loopback one needs `keys` or `tenants`.")
      .prefault("127.0.0.1:8080"),
    region: text().describe("Where this replica runs, for example uae-north.").optional(),
    body_limit: size("Largest request body that is accepted.", `${LIMITS.bodyBytesDefault / 2 ** 20}MiB`),
    drain_delay: duration(
      "After SIGTERM: how long to serve on with readiness false before new requests are refused.",
      "0s",
      true,
    ),
    drain_timeout: duration("After SIGTERM: how long running requests may take to finish.", "30s", true),
    secret_refresh: duration(
      "How long a value of a secret manager is used before it is read anew (leases at half their time).",
      "5m",
    ),
    expose: z
      .enum(["full", "minimal"])
      .describe("Which response headers clients see: all, or only the request id, cache and rate limits.")
      .prefault("full"),
    strict_pins: z
      .boolean({ error: "is not true or false" })
      .describe("Refuse floating model names, unless their routes say `pin: latest`, instead of warning of them.")
      .prefault(false),
    gate: z
      .strictObject({
        command: text()
          .describe("A command of the shell, run in the config's folder. 0 as its exit code means yes.")
          .optional(),
        webhook: text().describe("A URL that is posted to. 2xx without `allow: false` means yes.").optional(),
        timeout: duration("How long the answer may take; then it is no.", "5m"),
      })
      .describe(
        "Who is asked before a reload that changes which models an alias leads to: command or webhook, with the change as JSON. A no keeps the old config.",
      )
      .optional(),
  })
  .describe("The gateway itself.");

/** `ledger:` where rows go. */
export const ledgerSchema = z
  .strictObject({
    url: text("is not a ledger, as in `sqlite:`")
      .describe("`sqlite:` (a file in the data dir) or `sqlite:PATH`, relative to the config file.")
      .prefault("sqlite:"),
    fsync: z
      .boolean({ error: "is not true or false" })
      .describe("Flush every spool write to the disk: survives power loss, costs latency.")
      .prefault(false),
    spool: z
      .strictObject({
        max: size("Largest spool: rows on disk that are not yet in the database.", "1GiB"),
        on_full: z
          .enum(["refuse", "drop"])
          .describe("When the spool is full: refuse requests, or drop rows and count them.")
          .prefault("refuse"),
      })
      .describe("The append-only file in front of the database.")
      .prefault({}),
  })
  .describe("The record of every request and what it cost.");

/** `gateway` as read. */
export type GatewayInput = z.output<typeof gatewaySchema>;

/** `ledger` as read. */
export type LedgerInput = z.output<typeof ledgerSchema>;

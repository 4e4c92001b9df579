import type { Command } from "commander";
import type { Explanation } from "../admin/explanation.ts";
import type { CliContext } from "./context.ts";
import { questionOf, withQuestion } from "./explain-question.ts";
import { runCommand, UsageError } from "./run-command.ts";

interface ExplainOptions {
  request?: string;
  config?: string;
  env?: string;
  dataDir?: string;
  url?: string;
  json?: boolean;
}

/** `sluicegate explain ALIAS --tenant T …`, and `--request ID`. */
export function defineExplain(program: Command, context: CliContext): void {
  const command = program
    .command("explain")
    .description("why a request goes, or went, where it goes: rule, gates, strategy, chain")
    .argument("[alias]", "what is asked for: an alias, provider/model or deployment:NAME")
    .option("--request <id>", "a request that was made, also a refused one, in the place of an alias");
  withQuestion(command)
    .option("--config <file>", "under this config (default: SLUICEGATE_CONFIG or ./sluicegate.yaml)")
    .option("--env <name>", "with the overlay of this environment (default: SLUICEGATE_ENV)")
    .option("--data-dir <dir>", "where the row of a request is (default: SLUICEGATE_DATA_DIR or ./data)")
    .option("--url <url>", "ask a running gateway, which knows how deployments are; needs SLUICEGATE_ADMIN_KEY")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
Exit code 0: something would serve it. 1: nothing would.

Examples:
  sluicegate explain default --tenant acme --classification restricted --tools 2
  sluicegate explain --request req_01m5x7kq2v3w9b8c6d4e2f1g0h --url http://127.0.0.1:8080
`,
    )
    .action((alias: string | undefined, options: ExplainOptions) =>
      runCommand(context, () => explain(context, alias, options)),
    );
}

async function explain(context: CliContext, alias: string | undefined, options: ExplainOptions): Promise<number> {
  const question = questionOf(alias, { ...options });
  const found =
    options.url === undefined ? await here(context, question, options) : await there(context, question, options);
  if (options.json) context.write(`${JSON.stringify(found, null, 2)}\n`);
  else {
    const { explanationText } = await import("./explanation-text.ts");
    context.write(explanationText(found, context));
  }
  return found.chain.length > 0 ? 0 : 1;
}

/** Asks a running gateway. */
async function there(context: CliContext, question: object, options: ExplainOptions): Promise<Explanation> {
  const stray = (["config", "env", "dataDir"] as const).find((name) => options[name] !== undefined);
  if (stray)
    throw new UsageError("--url asks a running gateway under its own config: the other places have no meaning");
  const key = context.environment().get("SLUICEGATE_ADMIN_KEY");
  if (!key) throw new UsageError("--url needs an admin key in SLUICEGATE_ADMIN_KEY");
  const { adminClient } = await import("./admin-client.ts");
  return (await adminClient(options.url ?? "", key).post("/admin/explain", question)) as Explanation;
}

/** Decides under a config file; how deployments are is not known here, but for what a request's own row says. */
async function here(context: CliContext, question: object, options: ExplainOptions): Promise<Explanation> {
  const { explanation } = await import("../admin/explanation.ts");
  const { explainBody, hypotheticalFacts, ofKey } = await import("../admin/hypothetical.ts");
  const { readBody } = await import("../admin/query.ts");
  const { keysBeside, withConfig } = await import("./tried-config.ts");
  const asked = readBody(explainBody, question);
  return withConfig(context, options, async (runtime) => {
    const { snapshot } = runtime;
    const keyNamed = await keysBeside(context, options.dataDir, snapshot.keys);
    if (asked.request_id !== undefined) {
      const { facts, keyId } = await recordedFacts(context, options, asked.request_id);
      return explanation(runtime, { facts, key: keyId === null ? null : keyNamed(keyId), recorded: true });
    }
    const key = asked.key_id === undefined ? null : keyNamed(asked.key_id);
    if (asked.key_id !== undefined && !key) throw new UsageError(`there is no key ${asked.key_id} here`);
    const tenant = key?.tenant ?? asked.tenant ?? theOnly([...snapshot.tenants.keys()]);
    if (tenant === null) throw new UsageError("name who asks, with --tenant or --key");
    const facts = hypotheticalFacts(snapshot, { ...ofKey(key), ...asked }, tenant, context.clock.now());
    return explanation(runtime, { facts, key, recorded: false });
  });
}

async function recordedFacts(context: CliContext, { dataDir }: ExplainOptions, id: string) {
  const { isRouteFacts } = await import("../routing/facts.ts");
  const { withLedger } = await import("./ledger-source.ts");
  const source = dataDir === undefined ? {} : { dataDir };
  const record = await withLedger(context, source, async (reads) => reads.request(id));
  if (!record) throw new Error(`there is no request ${id} here; one that has just ended takes a moment to be listed`);
  if (isRouteFacts(record.facts)) return { facts: record.facts, keyId: record.key_id };
  throw new Error(`request ${id} was never routed: its row has no facts`);
}

function theOnly(names: readonly string[]): string | null {
  return names.length === 1 ? (names[0] ?? null) : null;
}

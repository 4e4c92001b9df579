import { MUTANTS } from "./mutants.ts";
import { planOf } from "./world/plan.ts";
import { type Outcome, runPlan } from "./world/run.ts";
import { loadTemplate } from "./world/template.ts";

/** Runs of one seed that are compared, of every so many seeds. */
const COMPARED_EVERY = 100;

const options = readOptions(process.argv.slice(2));
process.exitCode = await simulate();

async function simulate(): Promise<number> {
  const template = await loadTemplate();
  const mutant = options.mutant === null ? null : (MUTANTS[options.mutant] ?? null);
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const counts = { requests: 0, calls: 0, virtualMs: 0 };
  const seen = new Map<string, number>();
  let failed = 0;
  for (let seed = options.from; seed < options.from + options.seeds; seed++) {
    const plan = planOf(seed, template, mutant?.tilt);
    const outcome = await runPlan(plan, mutant);
    for (const name of ["requests", "calls", "virtualMs"] as const) counts[name] += outcome.counts[name];
    for (const [what, count] of Object.entries(outcome.seen)) seen.set(what, (seen.get(what) ?? 0) + count);
    if (options.trace) for (const line of outcome.lines) console.log(line);
    if (seed % COMPARED_EVERY === 0) {
      const again = await runPlan(plan, mutant);
      if (again.fingerprint !== outcome.fingerprint) {
        failed++;
        console.log(`seed ${seed}: two runs, two traces: ${firstDifference(outcome, again)}`);
      }
    }
    if (outcome.violations.length === 0) continue;
    failed++;
    report(outcome);
    if (failed >= options.stopAfter) break;
  }
  const ms = performance.now() - started;
  const cpu = process.cpuUsage(cpuBefore);
  console.log(
    `${options.seeds} seeds, ${counts.requests} requests, ${counts.calls} provider calls, ${(counts.virtualMs / 3.6e6).toFixed(1)} virtual hours in ${(ms / 1_000).toFixed(1)} s (${((cpu.user + cpu.system) / 1_000 / options.seeds).toFixed(1)} ms of CPU a seed): ${failed === 0 ? "all promises held" : `${failed} failed`}`,
  );
  console.log(
    [...seen]
      .sort(([, a], [, b]) => b - a)
      .map(([what, count]) => `${what} ${count}`)
      .join(", "),
  );
  return failed === 0 ? 0 : 1;
}

function report({ seed, violations }: Outcome): void {
  console.log(
    `seed ${seed}: ${violations.length} found; replay it with: npm run simulate -- --seed ${seed}${options.mutant ? ` --mutant ${options.mutant}` : ""}`,
  );
  for (const { rule, facts } of violations.slice(0, 5)) console.log(`  ${rule}: ${facts}`);
}

function firstDifference({ lines: a }: Outcome, { lines: b }: Outcome): string {
  const at = a.findIndex((line, i) => line !== b[i]);
  return at === -1 ? `${a.length} and ${b.length} lines` : `${a[at]} | ${b[at]}`;
}

interface Options {
  from: number;
  seeds: number;
  trace: boolean;
  stopAfter: number;
  mutant: string | null;
}

function named(name = ""): string {
  if (name in MUTANTS) return name;
  throw new Error(`unknown mutant ${name}; there are ${Object.keys(MUTANTS).join(", ")}`);
}

function readOptions(argv: string[]): Options {
  const read: Options = { from: 1, seeds: 200, trace: false, stopAfter: 10, mutant: null };
  for (let i = 0; i < argv.length; i += 2) {
    const value = Number(argv[i + 1]);
    if (argv[i] === "--seeds") read.seeds = value;
    else if (argv[i] === "--from") read.from = value;
    else if (argv[i] === "--mutant") read.mutant = named(argv[i + 1]);
    else if (argv[i] === "--seed") Object.assign(read, { from: value, seeds: 1, trace: true });
    else throw new Error(`unknown option ${argv[i]}; there are --seeds, --from, --seed, --mutant`);
  }
  return read;
}

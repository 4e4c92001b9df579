import { dirname, resolve } from "node:path";
import { findPackage, packageFault } from "@sluicegate/adapter-ai-sdk";
import type { Path } from "../problems.ts";
import type { AiSdkConfig } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { errorIn } from "./entry.ts";
import { type Job, secretAt } from "./job.ts";

const PACKAGE = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:\/[\w.-]+)*$/i;
const SECRET = /key|token|secret|password|authorization|credential/i;

/** What kind ai-sdk is told beyond what every kind is, its faults told. */
export function aiSdkOf(job: Job): AiSdkConfig {
  const { entry, input, environment, problems } = job;
  const { package: name, options = {} } = input;
  const folder = resolve(environment.cwd, dirname(entry.keyAt.file ?? "."));
  if (name === undefined) {
    errorIn(entry, [], "`package` is missing: a Vercel AI SDK provider package, as in @ai-sdk/xai", problems);
  } else if (!PACKAGE.test(name)) {
    errorIn(entry, ["package"], `\`${name.slice(0, 80)}\` is not the name of a package, as in @ai-sdk/xai`, problems);
  } else if (findPackage(name, folder) === null) {
    errorIn(entry, ["package"], `\`${name}\` is not installed: npm install ${name}, beside the config`, problems);
  } else {
    const fault = packageFault(name, input.export ?? null, folder);
    if (fault !== null) errorIn(entry, [input.export === undefined ? "package" : "export"], fault, problems);
  }
  const read = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((each, i) => read(each, [...path, i]));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, read(each, [...path, key])]));
    }
    if (typeof value !== "string") return value;
    const node = nodeAt(entry.node, path);
    const isReference = node?.kind === "scalar" && node.origin !== null;
    return isReference || SECRET.test(String(path.at(-1))) ? secretAt(job, path, value) : value;
  };
  const secretOptions = read(options, ["options"]) as Record<string, unknown>;
  return { package: name ?? "", export: input.export ?? null, options: secretOptions, folder };
}

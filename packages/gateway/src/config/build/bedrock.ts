import { Secret } from "../../core/secret.ts";
import { awsRegion } from "../aws-region.ts";
import type { AwsConfig } from "../snapshot.ts";
import { errorIn } from "./entry.ts";
import type { Job } from "./job.ts";

const REGION = /^[a-z]{2,3}(?:-[a-z]+){1,3}-\d{1,2}$/;
const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/\S+$/;

/** What kind bedrock is told beyond what every kind is, its faults told. */
export function bedrockOf(job: Job): AwsConfig {
  const { entry, input, environment, problems } = job;
  const region = awsRegion(input, environment);
  const hasKey = input.api_key !== undefined;
  if (region === undefined) {
    // A key is sent as it is, wherever the base URL says.
    const needless = hasKey && input.base_url !== undefined;
    const message = "`region` is missing: where Bedrock is called, as in us-east-1. Default: AWS_REGION";
    if (!needless) errorIn(entry, [], message, problems);
  } else if (!REGION.test(region)) {
    const below = input.region === undefined ? [] : ["region"];
    errorIn(entry, below, `\`${region.slice(0, 80)}\` is not a region of AWS, as in us-east-1`, problems);
  } else if (hasKey && input.base_url !== undefined && input.region !== undefined) {
    const message = "`region` says nothing beside `base_url` and `api_key`: nothing is signed; leave it out";
    errorIn(entry, ["region"], message, problems);
  }
  checkWho(job);
  return {
    region: region ?? "",
    roleArn: input.role_arn ?? null,
    profile: input.profile ?? null,
    // A profile that is named is meant: as in AWS's own libraries it goes before the environment.
    keys: input.profile === undefined ? keysOf(job) : null,
  };
}

function checkWho({ entry, input, problems }: Job): void {
  if (input.role_arn !== undefined && !ROLE.test(input.role_arn)) {
    const message = `\`${input.role_arn.slice(0, 80)}\` is not the ARN of a role, as in arn:aws:iam::123456789012:role/NAME`;
    errorIn(entry, ["role_arn"], message, problems);
  }
  const header = Object.keys(input.headers ?? {}).find((name) => name.toLowerCase() === "authorization");
  const other = input.api_key !== undefined ? "api_key" : header === undefined ? null : `headers.${header}`;
  if (other === null) return;
  for (const key of ["role_arn", "profile"] as const) {
    if (input[key] === undefined) continue;
    errorIn(entry, [key], `\`${key}\` and \`${other}\` are two ways to say who calls; leave one out`, problems);
  }
}

/** Keys in the environment, `.env` among it: there AWS's own libraries would not see them. */
function keysOf({ environment }: Job): AwsConfig["keys"] {
  const accessKeyId = environment.get("AWS_ACCESS_KEY_ID");
  const secretAccessKey = environment.get("AWS_SECRET_ACCESS_KEY");
  const sessionToken = environment.get("AWS_SESSION_TOKEN");
  if (!accessKeyId || !secretAccessKey) return null;
  return {
    accessKeyId,
    secretAccessKey: new Secret(secretAccessKey, "env:AWS_SECRET_ACCESS_KEY"),
    sessionToken: sessionToken ? new Secret(sessionToken, "env:AWS_SESSION_TOKEN") : null,
  };
}

import type { Gateway } from "../start-gateway.ts";

/** What a start says: where it is, the key, a curl line that works as it stands, and the console's place. */
export function banner(gateway: Gateway, flags: { config?: string; dataDir?: string } = {}): string {
  const { url, key, consoleUrl, source, routes } = gateway;
  const lines = ["", `Sluicegate is serving on ${url}`, ""];
  const [first] = routes;
  // Who has given no config does not know what answers: the simulator, perhaps.
  const names = routes.map((route) => (source === null ? `${route.alias} → ${route.first}` : route.alias));
  lines.push(`  config    ${source ?? "none: providers whose keys are in the environment, else the simulator (sim)"}`);
  lines.push(`  aliases   ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}`);
  if (key) lines.push(`  key       ${key}`);
  if (consoleUrl) lines.push(`  console   ${consoleUrl}`);
  lines.push("");
  if (key && first) {
    lines.push(
      "Try it:",
      "",
      `  curl ${url}/v1/chat/completions \\`,
      `    -H "authorization: Bearer ${key}" -H "content-type: application/json" \\`,
      `    -d '{"model":"${first.alias}","messages":[{"role":"user","content":"Say hello."}]}'`,
      "",
    );
  } else if (!key) {
    lines.push("Clients need a key: one of the config's, or one that this makes:", "", `  ${keysCreate(flags)}`, "");
  }
  return lines.join("\n");
}

/** With the flags of the start, so that the key goes where this gateway looks. */
function keysCreate({ config, dataDir }: { config?: string; dataDir?: string }): string {
  const flags = [...(config ? [`--config ${config}`] : []), ...(dataDir ? [`--data-dir ${dataDir}`] : [])];
  return ["npx sluicegate keys create --tenant NAME", ...flags].join(" ");
}

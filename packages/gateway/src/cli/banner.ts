import type { Gateway } from "../start-gateway.ts";

/** What a start says: where it is, the key, a curl line that works as it stands, and the console's place. */
export function banner(gateway: Gateway): string {
  const { url, key, consoleUrl, source, aliases } = gateway;
  const lines = ["", `Sluicegate is serving on ${url}`, ""];
  const [alias] = aliases;
  lines.push(`  config    ${source ?? "none: made from the environment (see README)"}`);
  lines.push(`  aliases   ${aliases.slice(0, 8).join(", ")}${aliases.length > 8 ? ", …" : ""}`);
  if (key) lines.push(`  key       ${key}`);
  if (consoleUrl) lines.push(`  console   ${consoleUrl}`);
  lines.push("");
  if (key && alias) {
    lines.push(
      "Try it:",
      "",
      `  curl ${url}/v1/chat/completions \\`,
      `    -H "authorization: Bearer ${key}" -H "content-type: application/json" \\`,
      `    -d '{"model":"${alias}","messages":[{"role":"user","content":"Say hello."}]}'`,
      "",
    );
  } else if (!key) {
    lines.push("Clients need a key: `sluicegate keys create --tenant NAME` makes one.", "");
  }
  return lines.join("\n");
}

/** Hosts that only this machine reaches. */
const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[?::1\]?|\[?0:0:0:0:0:0:0:1\]?)$/i;
/** A version as path segments have it: v1, v4, v1beta. */
const VERSION = /^v\d+[a-z0-9]*$/i;

/** Whether a host name or address is this machine's loopback. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** A base URL without its trailing slashes, or what is wrong with it as a predicate. */
export function readBaseUrl(written: string): { url: string } | { fault: string } {
  const parsed = httpUrl(written);
  if ("fault" in parsed) return parsed;
  const { url } = parsed;
  if (url.username !== "" || url.password !== "")
    return { fault: "holds a user or password; use `api_key`, `headers` or `auth`" };
  if (url.search !== "" || url.hash !== "") return { fault: "holds a query or a fragment, which calls would lose" };
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const doubled = segments.find((segment, i) => VERSION.test(segment) && VERSION.test(segments[i + 1] ?? ""));
  if (doubled !== undefined)
    return { fault: `has its version twice (\`/${doubled}/${segments[segments.indexOf(doubled) + 1]}\`)` };
  const endpoint = /\/(chat\/completions|completions|embeddings|responses|models)$/.exec(
    url.pathname.replace(/\/+$/, ""),
  );
  if (endpoint) return { fault: `ends in an endpoint; leave out \`/${endpoint[1]}\`` };
  return { url: `${url.origin}${segments.map((segment) => `/${segment}`).join("")}` };
}

/** An http or https URL, or what is wrong with it as a predicate. */
export function httpUrl(written: string): { url: URL } | { fault: string } {
  // URL would mend a missing slash or a space in silence.
  if (!/^https?:\/\/[^\s/?#]/i.test(written) || !URL.canParse(written) || /\s/.test(written)) {
    return { fault: "is not an http or https URL, as in `https://api.example.com/v1`" };
  }
  return { url: new URL(written) };
}

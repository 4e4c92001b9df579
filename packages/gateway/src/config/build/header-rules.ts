/** Characters of a header's name (RFC 9110). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that belong to the connection or the body, which the gateway makes itself. */
const OWN = [
  ...[
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
  ],
  ...["transfer-encoding", "upgrade", "accept-encoding", "content-encoding"],
];
/** Headers in which clients send the gateway's own credentials; a provider must never see them. */
const CREDENTIALS = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "proxy-authorization", "cookie"];

/** What is wrong with the name of a header that is sent to a provider, as a predicate; null when nothing is. */
export function headerNameFault(name: string): string | null {
  if (!TOKEN.test(name)) return "is not the name of a header";
  return OWN.includes(name.toLowerCase()) ? "is a header that the gateway sets itself" : null;
}

/** The same for a header that is passed on from clients. */
export function forwardedHeaderFault(name: string): string | null {
  const lower = name.toLowerCase();
  if (CREDENTIALS.includes(lower)) return "carries the client's key to this gateway, which no provider may see";
  if (lower.startsWith("x-sluicegate-")) return "is the gateway's own header";
  return headerNameFault(name);
}

/** What is wrong with a header's value, as a predicate without the value: it may be secret. */
export function headerValueFault(value: string): string | null {
  // Printable Latin-1: what node:http and undici let pass.
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? null
    : "holds characters that cannot stand in a header, such as a line break";
}

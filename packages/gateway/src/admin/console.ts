import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Principal, principalOf } from "./auth.ts";
import { consolePage } from "./console-page.ts";
import { CONSOLE_STYLE_HASH } from "./console-style.ts";
import { consoleView } from "./console-view.ts";
import type { Html } from "./html.ts";
import type { ControlParts } from "./parts.ts";
import { createSessions, SESSION_SECONDS, type Sessions } from "./sessions.ts";
import { signInPage } from "./sign-in-page.ts";

const COOKIE = "sluicegate_session";
const COOKIE_SCOPE = "Path=/console; HttpOnly; SameSite=Strict";

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src '${CONSOLE_STYLE_HASH}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

/** The console: one page for whoever holds an admin key or opens the one-time link, a sign-in page for all others. */
export function consoleRoutes(app: FastifyInstance, parts: ControlParts): void {
  const sessions = createSessions(parts.clock, parts.random);
  for (const path of ["/console", "/console/"]) {
    app.get<{ Querystring: { token?: unknown } }>(path, async (request, reply) => {
      const { token } = request.query;
      const principal = signedIn(request, parts, sessions);
      if (typeof token === "string") return openLink(request, reply, token, principal !== null);
      if (!principal) return page(reply, signInPage(parts, null));
      return page(reply, consolePage(await consoleView(parts, principal)));
    });
  }

  app.post("/console/login", async (request, reply) => {
    if (isCrossSite(request)) return page(reply.code(403), signInPage(parts, "This form was sent from another site."));
    const principal = principalOf(parts.adminKeys(), fieldOf(request.body, "key"));
    if (!principal) return page(reply.code(401), signInPage(parts, "That is not an admin key of this gateway."));
    return signIn(request, reply, principal);
  });

  app.post("/console/logout", async (request, reply) => {
    if (!isCrossSite(request)) sessions.end(cookieOf(request) ?? "");
    reply.header("set-cookie", `${COOKIE}=; ${COOKIE_SCOPE}; Max-Age=0`);
    return reply.redirect("/console", 303);
  });

  function openLink(request: FastifyRequest, reply: FastifyReply, token: string, alreadyIn: boolean): FastifyReply {
    if (alreadyIn) return reply.redirect("/console", 303);
    // Only a GET uses the token up: a HEAD is somebody looking whether the link is alive.
    if (request.method === "GET" && parts.consoleLinks.redeem(token)) {
      return signIn(request, reply, { role: "admin", tenant: null, keyHash: null });
    }
    return page(reply.code(401), signInPage(parts, "This link has been used already, or is too old."));
  }

  function signIn(request: FastifyRequest, reply: FastifyReply, principal: Principal): FastifyReply {
    const secure = "encrypted" in request.raw.socket || request.headers["x-forwarded-proto"] === "https";
    const cookie = `${COOKIE}=${sessions.open(principal)}; ${COOKIE_SCOPE}; Max-Age=${SESSION_SECONDS}${secure ? "; Secure" : ""}`;
    parts.log.info("console sign-in", { role: principal.role, by: principal.keyHash?.slice(0, 8) ?? "link" });
    return reply.header("set-cookie", cookie).redirect("/console", 303);
  }
}

function page(reply: FastifyReply, body: Html): FastifyReply {
  return reply.headers(PAGE_HEADERS).send(body.toString());
}

function signedIn(request: FastifyRequest, parts: ControlParts, sessions: Sessions): Principal | null {
  const id = cookieOf(request);
  return id === null ? null : sessions.find(id, parts.adminKeys());
}

function cookieOf(request: FastifyRequest): string | null {
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const mark = pair.indexOf("=");
    if (pair.slice(0, mark).trim() === COOKIE) return pair.slice(mark + 1).trim();
  }
  return null;
}

function fieldOf(body: unknown, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name)?.trim() ?? "") : "";
}

/** Browsers say where a request comes from; one from another site's page is not the user's will. */
function isCrossSite(request: FastifyRequest): boolean {
  const site = request.headers["sec-fetch-site"];
  return site !== undefined && site !== "same-origin" && site !== "none";
}

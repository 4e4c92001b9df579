import type { FastifyInstance } from "fastify";

/** Which methods each path takes: fastify itself answers a wrong method as a path that does not exist. */
export interface RouteTable {
  /** Methods of a path without its query; none: there is no such path. */
  methodsOf(path: string): string[];
}

/** The table of all routes that are added to `app` from now on. */
export function routeTable(app: FastifyInstance): RouteTable {
  const routes: { pattern: RegExp; method: string }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const source = url.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:[a-z]+/gi, "[^/]+");
    for (const name of [method].flat()) routes.push({ pattern: new RegExp(`^${source}$`), method: name });
  });
  return {
    methodsOf: (path) => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))],
  };
}

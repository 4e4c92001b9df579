import type { Deployment, VertexConfig } from "../config/snapshot.ts";
import type { Call } from "../core/call.ts";
import { type Fields, isObject } from "../protocols/field-checks.ts";
import { camelCase, pickObject } from "../protocols/gemini-generate/fields.ts";
import { type Edit, editMembers, membersOf } from "../protocols/json-members.ts";
import { type Protocol, replyObject } from "../protocols/protocol.ts";
import type { Envelope } from "./provider.ts";
import { vertexBetas } from "./vertex-betas.ts";

const ANTHROPIC_VERSION = "vertex-2023-10-16";
/** Members of Vertex's countTokens; whatever else a request holds is a 400 there. */
const COUNTED: ReadonlySet<string> = new Set(["contents", "systemInstruction", "tools", "generationConfig"]);

/** What one protocol's calls are made of at Vertex. */
interface Manner {
  /** Behind the model, or behind what stands for it. */
  method(call: Call): string;
  /** Behind which model it is asked, where that is not the one called. */
  at?: string;
  body?(body: Buffer, model: string): Buffer;
}

const MANNERS: Readonly<Record<string, Manner>> = {
  "gemini-generate": {
    method: ({ stream }) => (stream ? "streamGenerateContent?alt=sse" : "generateContent"),
    body: (body) => edited(body, new Map([["model", null]])),
  },
  "gemini-count-tokens": { method: () => "countTokens", body: countBody },
  "vertex-predict": { method: () => "predict" },
  "vertex-embed-content": { method: () => "embedContent" },
  "anthropic-messages": {
    method: ({ stream }) => (stream ? "streamRawPredict" : "rawPredict"),
    body: (body) =>
      edited(
        body,
        new Map([
          ["model", null],
          ["anthropic_version", null],
        ]),
        [VERSION],
      ),
  },
  "anthropic-count-tokens": {
    method: () => "rawPredict",
    at: "count-tokens",
    body: (body, model) =>
      edited(
        body,
        new Map<string, Edit>([
          ["model", { value: JSON.stringify(model) }],
          ["anthropic_version", null],
        ]),
        [VERSION],
      ),
  },
};

const VERSION = `"anthropic_version":${JSON.stringify(ANTHROPIC_VERSION)}`;

/** Vertex's paths below a project and a location, and the bodies of Google's and Anthropic's protocols as it wants them. */
export function vertexEnvelope({ project, location }: VertexConfig): Envelope {
  const parent = `/v1/projects/${project}/locations/${location}`;
  return {
    path(protocol, call, { model }) {
      const { method, at } = mannerOf(protocol);
      const resource = at === undefined ? resourceOf(model, parent) : siblingOf(resourceOf(model, parent), at);
      return `${resource}:${method(call)}`;
    },
    body: (body, protocol, deployment) => mannerOf(protocol).body?.(body, bareName(deployment)) ?? body,
    headers: (own, protocol) => vertexBetas(own, protocol.name === "anthropic-count-tokens"),
  };
}

function mannerOf({ name }: Protocol): Manner {
  const manner = MANNERS[name];
  if (!manner) throw new Error(`Vertex does not speak ${name}`);
  return manner;
}

/** A model by its bare name, `publishers/x/models/y`, a tuned one's `endpoints/123`, or a whole resource name. */
function resourceOf(model: string, parent: string): string {
  if (/^projects\/[^/]+\/locations\/[^/]+\//.test(model)) return `/v1/${segments(model)}`;
  if (/^(?:publishers|endpoints)\//.test(model)) return `${parent}/${segments(model)}`;
  const publisher = model.startsWith("claude-") ? "anthropic" : "google";
  return `${parent}/publishers/${publisher}/models/${segment(model.replace(/^models\//, ""))}`;
}

function siblingOf(resource: string, name: string): string {
  return resource.slice(0, resource.lastIndexOf("/") + 1) + name;
}

function bareName({ model }: Deployment): string {
  return model.slice(model.lastIndexOf("/") + 1);
}

function segments(path: string): string {
  return path.split("/").map(segment).join("/");
}

/** Versions stand behind an `@`, which Google's paths have as it is. */
function segment(text: string): string {
  return encodeURIComponent(text).replaceAll("%40", "@");
}

function edited(body: Buffer, edits: ReadonlyMap<string, Edit>, additions: readonly string[] = []): Buffer {
  const members = membersOf(body);
  const touched = members.some(({ key }) => edits.has(key));
  return touched || additions.length > 0 ? editMembers(body, members, new Map(edits), [...additions]) : body;
}

/** Contents and what goes with them stand at the top; Google's other API has them in a whole request, too. */
function countBody(body: Buffer): Buffer {
  const given = replyObject(body) ?? {};
  const whole = pickObject(given, "generateContentRequest");
  if (!whole) return edited(body, new Map([["model", null]]));
  const counted: Fields = {};
  for (const [key, value] of Object.entries(whole)) if (COUNTED.has(camelCase(key))) counted[key] = value;
  return Buffer.from(JSON.stringify(isObject(counted) ? counted : {}));
}

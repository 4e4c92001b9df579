/** Markup that is safe to send: everything in it that came from elsewhere has been escaped. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What a template may hold: texts and numbers are escaped, markup is kept, null and false are nothing. */
export type HtmlValue = string | number | Html | null | false | readonly HtmlValue[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A template whose values are escaped, for text and for quoted attributes. Not for scripts, styles or URLs. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  let text = parts[0] ?? "";
  for (const [i, value] of values.entries()) text += rendered(value) + (parts[i + 1] ?? "");
  return new Html(text);
}

function rendered(value: HtmlValue): string {
  if (value === null || value === false) return "";
  if (value instanceof Html) return value.toString();
  if (typeof value === "object") return value.map(rendered).join("");
  return String(value).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

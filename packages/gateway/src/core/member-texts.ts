import { numberText, quotedText } from "./json-text.ts";
import { LIMITS } from "./limits.ts";

/** Stands for the value of a member that has not always been the same. */
const VARIES = Symbol("varies");

/** Objects that have the same members in the same order. */
interface Form {
  names: string[];
  /** Of each member the value that it always had. */
  values: unknown[];
  /** For each member that varies, in order, what stands before its value; and last what stands behind all of them. */
  texts: string[];
}

/**
 * `JSON.stringify` for objects of which many are alike: what they all say in the same words is kept as text, and only their
 * other members are made into text anew. What has not been met before takes the general way.
 */
export class MemberTexts {
  readonly #forms: Form[] = [];
  #unmet = 0;
  /** The members of the object that is looked at, used again for the next. */
  readonly #names: string[] = [];
  readonly #values: unknown[] = [];

  /** `JSON.stringify(value)`, for an object that inherits neither what can be enumerated nor `toJSON`. */
  textOf(value: object): string {
    const count = this.#take(value as Record<string, unknown>);
    const form = this.#formOf(count);
    const text = form ? textIn(form, this.#values) : undefined;
    // What is left there would hold on to the object's strings.
    for (let at = 0; at < count; at++) this.#values[at] = null;
    return text ?? this.#stringified(value, form === null);
  }

  /** How many members it has. */
  #take(object: Record<string, unknown>): number {
    let count = 0;
    for (const name in object) {
      this.#names[count] = name;
      this.#values[count++] = object[name];
    }
    return count;
  }

  /** One that is found moves up by one place. */
  #formOf(count: number): Form | null {
    const forms = this.#forms;
    for (let index = 0; index < forms.length; index++) {
      const form = forms[index] as Form;
      if (!isOf(form, this.#names, count)) continue;
      if (index > 0) {
        forms[index] = forms[index - 1] as Form;
        forms[index - 1] = form;
      }
      return form;
    }
    return null;
  }

  #stringified(value: object, isNew: boolean): string {
    const text = JSON.stringify(value);
    if (isNew && this.#wants(text)) this.#add(text, Object.keys(value));
    return text;
  }

  /** Where nothing comes again, keeping costs more than it saves. */
  #wants(text: string): boolean {
    if (text.length > LIMITS.rememberedCharsMax) return false;
    if (this.#forms.length < LIMITS.memberFormsMax) return true;
    this.#unmet = (this.#unmet + 1) % LIMITS.rememberedUnwanted;
    return this.#unmet === 0;
  }

  /** What is kept is read back from the text: a string of the object may hold on to the whole body that it was cut from. */
  #add(text: string, namesNow: string[]): void {
    const own: object = JSON.parse(text);
    const names = Object.keys(own);
    const values = Object.values(own).map((value) => (typeof value === "object" && value !== null ? VARIES : value));
    const form = { names, values, texts: textsOf(names, values) };
    if (!isOf(form, namesNow, namesNow.length)) return;
    if (this.#forms.length >= LIMITS.memberFormsMax) this.#forms.pop();
    this.#forms.push(form);
  }
}

function isOf({ names }: Form, others: readonly string[], count: number): boolean {
  if (names.length !== count) return false;
  for (let at = 0; at < count; at++) if (names[at] !== others[at]) return false;
  return true;
}

/** The text of an object of this form; undefined where it has a value that JSON has not. */
function textIn(form: Form, values: readonly unknown[]): string | undefined {
  let varying = 0;
  let text = "";
  for (let at = 0; at < form.values.length; at++) {
    const usual = form.values[at];
    const value = values[at];
    if (usual === VARIES) {
      const own = valueText(value);
      if (own === undefined) return undefined;
      text += form.texts[varying++] + own;
    } else if (usual !== value) {
      form.values[at] = VARIES;
      form.texts = textsOf(form.names, form.values);
      return textIn(form, values);
    }
  }
  return text + form.texts[varying];
}

function textsOf(names: readonly string[], values: readonly unknown[]): string[] {
  const texts: string[] = [];
  let text = "{";
  for (const [at, value] of values.entries()) {
    text += `${at > 0 ? "," : ""}${JSON.stringify(names[at])}:`;
    if (value !== VARIES) {
      text += JSON.stringify(value);
    } else {
      texts.push(text);
      text = "";
    }
  }
  return [...texts, `${text}}`];
}

/** Undefined where JSON has no such value. */
function valueText(value: unknown): string | undefined {
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return quotedText(value);
  return JSON.stringify(value);
}

import { MemberTexts } from "./member-texts.ts";

/** `JSON.stringify(value)`, made once: for a plain object of JSON values that does not change any more. */
export function jsonText(value: object): string {
  return WithText.textOf(value);
}

/** The memory of a pure function, and nothing else. */
const MEMBERS = new MemberTexts();

/** "Makes" the object it is given, so that the fields of a class below it are put on that. */
class Lent {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what it is for.
    return value;
  }
}

/** Keeps the text on the object itself, where nobody sees or copies it: a WeakMap's entry costs nearly what the text does. */
class WithText extends Lent {
  readonly #text: string;

  private constructor(value: object) {
    super(value);
    this.#text = MEMBERS.textOf(value);
  }

  static textOf(value: object): string {
    return #text in value ? value.#text : new WithText(value).#text;
  }
}

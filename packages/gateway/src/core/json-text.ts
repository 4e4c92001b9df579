/** `JSON.stringify(value)`, made once: for an object that does not change any more. */
export function jsonText(value: object): string {
  return WithText.textOf(value);
}

/** Printable ASCII that JSON need not escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A string as `JSON.stringify` puts it. */
export function quotedText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A number as `JSON.stringify` puts it. */
export function numberText(value: number): string {
  return Number.isFinite(value) ? `${value}` : "null";
}

/** The same for a time of one decimal: as two whole numbers it becomes text several times as fast as a fraction does. */
export function msText(ms: number): string {
  const tenths = Math.round(ms * 10);
  if (tenths / 10 !== ms || tenths < 0 || tenths > 1e9) return numberText(ms);
  const rest = tenths % 10;
  return rest === 0 ? `${tenths / 10}` : `${(tenths - rest) / 10}.${rest}`;
}

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
    this.#text = JSON.stringify(value);
  }

  static textOf(value: object): string {
    return #text in value ? value.#text : new WithText(value).#text;
  }
}

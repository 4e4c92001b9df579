/** Printable ASCII that JSON need not escape. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A string as `JSON.stringify` puts it. */
export function quotedText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

const MILLION = 1e6;
const BILLION = 1e9;
/** Whole numbers between these, as moments are, become text far faster in two halves, each of which is a small integer. */
const HALVED_FROM = 2 ** 31;
const HALVED_TO = 1e15;

/** A number as `JSON.stringify` puts it; a fraction of nine digits, as draws are, becomes text faster as a whole number as well. */
export function numberText(value: number): string {
  if (value > HALVED_FROM && value < HALVED_TO) {
    const low = value % MILLION;
    if (low >= MILLION / 10 && Number.isInteger(low)) return `${(value - low) / MILLION}${low}`;
  }
  if (value >= 0.1 && value < 1) {
    const digits = Math.round(value * BILLION);
    if (digits / BILLION === value && digits % 10 !== 0) return `0.${digits}`;
  }
  return Number.isFinite(value) ? `${value}` : "null";
}

/** The same for a time of one decimal: as two whole numbers it becomes text several times as fast as a fraction does. */
export function msText(ms: number): string {
  const tenths = Math.round(ms * 10);
  if (tenths / 10 !== ms || tenths < 0 || tenths > 1e9) return numberText(ms);
  const rest = tenths % 10;
  return rest === 0 ? `${tenths / 10}` : `${(tenths - rest) / 10}.${rest}`;
}

// Marks in texts: invisible characters that contain a number. `app/content/marks` writes them with the same rules.
const START = "\u2063\u2060\u2063";
const FIRST_DIGIT = 0x2060;
const DIGITS = 12;
const LENGTH = START.length + DIGITS + 1;
const ENCODED = /(?:%E2%81%A[0-3]){16,}/gi;

/** The numbers that are marks. Others belong to the texts of authors. A page that is changed in place receives newer numbers. */
export interface NumberRange {
  readonly first: number;
  last: number;
}

export interface CleanText {
  readonly text: string;
  readonly numbers: readonly number[];
}

/** Return whether a text can contain a mark. This is fast for the many texts without one. */
export function mayHaveMarks(text: string): boolean {
  return text.includes(START) || text.includes("%E2%81%A3") || text.includes("%e2%81%a3");
}

/** Return a text without its marks, also in percent encoding, and their numbers. */
export function cleanText(text: string, range: NumberRange): CleanText {
  const numbers: number[] = [];
  let result = withoutMarks(text, range, numbers);
  if (result.includes("%")) result = result.replace(ENCODED, (run) => encodeURIComponent(withoutMarks(decodeURIComponent(run), range, numbers)));
  return { text: result, numbers };
}

function withoutMarks(text: string, { first, last }: NumberRange, numbers: number[]): string {
  let result = "";
  let copied = 0;
  let position = text.indexOf(START);
  while (position >= 0) {
    const number = numberAt(text, position);
    const isMark = number >= first && number <= last;
    if (isMark) {
      numbers.push(number);
      result += text.slice(copied, position);
      copied = position + LENGTH;
    }
    position = text.indexOf(START, isMark ? copied : position + 1);
  }
  return copied ? result + text.slice(copied) : text;
}

/** Return the number of a mark that starts at a position, or -1. */
function numberAt(text: string, start: number): number {
  let number = 0;
  let sum = 0;
  for (let index = 0; index < DIGITS; index++) {
    const digit = text.charCodeAt(start + START.length + index) - FIRST_DIGIT;
    if (!(digit >= 0 && digit <= 3)) return -1;
    number = number * 4 + digit;
    sum += (index + 1) * digit;
  }
  return text.charCodeAt(start + LENGTH - 1) - FIRST_DIGIT === sum % 4 ? number : -1;
}

// Three-way merge of one block: an edit of the normalized text, applied to the text that the author wrote.

/** Return `raw` with the changes from `base` to `mine`. Parts that differ in both are merged by characters. */
export function merge(base: string, raw: string, mine: string, unit: Unit): string {
  if (base === raw) return mine;
  const [b, r, m] = [base, raw, mine].map((text) => tokens(text, unit)) as [string[], string[], string[]];
  const inRaw = matches(b, r);
  const inMine = matches(b, m);
  const output: string[] = [];
  let [i, j, k] = [0, 0, 0];
  while (i <= b.length) {
    let anchor = i;
    while (anchor < b.length && (inRaw[anchor]! < j || inMine[anchor]! < k)) anchor++;
    const end = anchor < b.length ? [inRaw[anchor]!, inMine[anchor]!] : [r.length, m.length];
    const [was, written, edited] = [b.slice(i, anchor), r.slice(j, end[0]), m.slice(k, end[1])];
    const [old, theirs, ours] = [was.join(""), written.join(""), edited.join("")];
    if (old === ours) output.push(theirs);
    else if (old === theirs || unit === "character") output.push(ours);
    else output.push(merge(old, theirs, ours, "character"));
    if (anchor < b.length) output.push(b[anchor]!);
    [i, j, k] = [anchor + 1, end[0]! + 1, end[1]! + 1];
  }
  return output.join("");
}

const UNITS = { line: /[^\n]*\n|[^\n]+/g, word: /[\p{L}\p{N}]+|[^\S\n]+|[^]/gu, character: /[^]/gu };

type Unit = keyof typeof UNITS;

function tokens(text: string, unit: Unit): string[] {
  return text.match(UNITS[unit]) ?? [];
}

/** Return for each token of `a` its index in `b` in a longest common subsequence, or -1 (algorithm of Myers). */
function matches(a: string[], b: string[]): number[] {
  const result = new Array<number>(a.length).fill(-1);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) result[start] = start++;
  let [m, n] = [a.length, b.length];
  while (m > start && n > start && a[m - 1] === b[n - 1]) result[--m] = --n;
  const trace: Map<number, number>[] = [];
  let frontier = new Map([[1, 0]]);
  const height = m - start;
  const width = n - start;
  for (let edits = 0; edits <= Math.min(height + width, MAX_EDITS); edits++) {
    trace.push(new Map(frontier));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = diagonal === -edits || (diagonal !== edits && frontier.get(diagonal - 1)! < frontier.get(diagonal + 1)!);
      let x = down ? frontier.get(diagonal + 1)! : frontier.get(diagonal - 1)! + 1;
      let y = x - diagonal;
      while (x < height && y < width && a[start + x] === b[start + y]) [x, y] = [x + 1, y + 1];
      frontier.set(diagonal, x);
      if (x >= height && y >= width) return backtrack(trace, result, start, height, width);
    }
  }
  return result;
}

const MAX_EDITS = 1500;

function backtrack(trace: Map<number, number>[], result: number[], start: number, x: number, y: number): number[] {
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const frontier = trace[edits]!;
    const diagonal = x - y;
    const down = diagonal === -edits || (diagonal !== edits && frontier.get(diagonal - 1)! < frontier.get(diagonal + 1)!);
    const previous = down ? diagonal + 1 : diagonal - 1;
    const px = edits === 0 ? 0 : frontier.get(previous)!;
    const py = edits === 0 ? 0 : px - previous;
    while (x > px && y > py) result[start + --x] = start + --y;
    [x, y] = [px, py];
  }
  return result;
}

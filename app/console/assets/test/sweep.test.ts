// Random edits of generated pages. Only the touched block differs, undo returns the first bytes, and so does the opposite edit.
// GALLEY_SWEEP_COUNT sets the number of pages. With GALLEY_SWEEP_PAGES (a file with one path of a page in each line) the pages of repositories are edited instead.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { MarkdownFile } from "../src/markdown/file.ts";
import { KINDS, random, tryEdit } from "./support/sweep.ts";

const PAGES = Number(process.env.GALLEY_SWEEP_COUNT ?? 24);
const ROUNDS = 3;
const list = process.env.GALLEY_SWEEP_PAGES;
const next = random(20261128);
const pick = <T>(items: readonly T[]): T => items[next(items.length)]!;

const WORDS = ["harbour", "fog", "the", "a", "snake_case", "10.50", "café", "港口の", "「重要」", "مرحبا", "हिन्दी", "2 \\* 3", "&nbsp;", "&copy;", "a\\_b", "C++", "x|y".replace("|", "/"), "100%", "(see)", "don't", "v1.2", "1986."];
const text = (count: number): string => Array.from({ length: 1 + next(count) }, () => pick(WORDS)).join(" ");
const word = (): string => pick(["harbour", "fog signal", "港口", "مرحبا", "हिन्दी", "two_words"]);
const MARKS: (() => string)[] = [
  () => `**${word()}**`, () => `__${word()}__`, () => `*${word()}*`, () => `_${word()}_`, () => `~~${word()}~~`, () => `\`${word()}\``, () => "`` a ` b ``", () => `**\`${word()}\`**`, () => `**a \`b\` c**`, () => `***${word()}***`,
  () => `[${word()}](/a/b.md)`, () => `[\`${word()}\`](/x)`, () => `[\`a\`](/x) and [_b_](/y "T")`, () => `**[${word()}](<a b.md>)**`, () => "[Ref]", () => "[ref][]", () => `[${word()}][ref]`, () => "[`code`][ref]", () => "![alt *x*](a%20b.png 't')",
  () => "<https://a.example>", () => "<kbd>K</kbd>", () => "<b>bold</b>", () => "<!-- note -->", () => '{{< ref "a_b" >}}', () => "{% link x.md %}", () => "[^1]", () => ":rocket:", () => "{: .wide}",
];
const inline = (): string => Array.from({ length: 1 + next(4) }, () => `${text(4)} ${pick(MARKS)()}`).join(pick([" ", ", ", ". "])) + pick(["", ".", " end", `${pick(MARKS)()}`]);
const lines = (): string => Array.from({ length: 1 + next(3) }, inline).join(pick(["\n", "\n", "  \n", "\\\n", "\n  "]));
const indented = (value: string, margin: string): string => value.replace(/\n(?=[^\n])/g, `\n${margin}`);

function list_(depth = 0): string {
  const [marker, gap, tight] = [pick(["-", "*", "+", "1.", "1)", "7."]), pick([" ", " ", "   "]), next(3) > 0];
  const isNumber = /\d/.test(marker);
  const step = isNumber ? pick([0, 1, 1]) : 0;
  const outer = depth ? "" : pick(["", "", "", " ", "  "]);
  const items = Array.from({ length: 1 + next(isNumber ? 11 : 4) }, (_, index) => {
    const lead = (isNumber ? Number.parseInt(marker, 10) + index * step + marker.slice(-1) : marker) + gap;
    const margin = outer + " ".repeat(lead.length);
    const parts = [pick(["", "", "[ ] ", "[x] "]) + (next(3) ? inline() : lines())];
    if (!next(4) && depth < 2) parts.push(list_(depth + 1));
    if (!next(5) && !tight) parts.push(pick([lines, fence, () => "> quote _a_\n> b", () => "![Shot](/img/s.png)"])());
    return outer + lead + parts.map((part) => indented(part, margin)).join(tight ? `\n${margin}` : `\n\n${margin}`);
  });
  return items.join(tight ? "\n" : "\n\n");
}

function fence(): string {
  return pick(["```js {1}\nconst a = `b`;\n\n  x\n```", "~~~\n# no heading\n~~~", "``` \n\n```"]);
}

function table(): string {
  const outer = next(2) > 0;
  const row = (cells: string[]) => (outer ? `|${cells.join("|")}|` : cells.join("|"));
  const cell = () => pick([" ", "", "  "]) + pick([text(2), pick(MARKS)(), `${text(1)} ${pick(MARKS)()}`, "`a \\| b`"]).replace(/\s*\n\s*/g, " ") + pick([" ", "", "   "]);
  const columns = 2 + next(2);
  const cells = (make: () => string) => Array.from({ length: columns }, make);
  return [row(cells(() => ` ${word()} `)), row(cells(() => pick(["---", ":--", " :-: ", " ----- "]))), ...Array.from({ length: 1 + next(3) }, () => row(cells(cell)))].join("\n");
}

const BLOCKS: (() => string)[] = [
  lines, lines, lines, () => list_(), () => list_(), () => list_(), table, fence,
  () => `${"#".repeat(1 + next(4))} ${inline()}${pick(["", " ##", " {#id}"])}`, () => `${text(3)}\n=====`, () => `${text(3)}\n---`,
  () => `> [!WARNING]\n> ${indented(lines(), "> ")}`, () => `> ${indented(lines(), pick(["> ", ">", ""]))}`, () => "> - a _b_\n>   c\n>\n> d",
  () => `Term ${text(1)}\n: ${inline()}`, () => `  ${lines()}`, () => "    indented\n\n    code", () => "***", () => "<div>\n  html\n</div>", () => '{{< figure\n  src="a.png"\n>}}', () => "{: .note}", () => ":::note\nText\n:::", () => "<Steps>",
];

function page(): string {
  const body = Array.from({ length: 2 + next(7) }, () => pick(BLOCKS)()).join(pick(["\n\n", "\n\n", "\n\n\n"]));
  const whole = `${pick(["", "---\ntitle: 'a'\n---\n", "\n"])}${body}\n\n[ref]: /target "Title"\n[^1]: A note.\n`;
  return next(5) ? whole : whole.replaceAll("\n", "\r\n");
}

function* pages(): Generator<{ name: string; text: string; isMdx: boolean }> {
  if (!list) for (let index = 0; index < PAGES; index++) yield { name: `page ${index}`, text: page(), isMdx: !(index % 7) };
  else for (const name of readFileSync(list, "utf8").trim().split("\n")) yield { name, text: readFileSync(name, "utf8"), isMdx: name.endsWith(".mdx") };
}

it("random edits change the touched block only and can be taken back", { timeout: 3_600_000 }, () => {
  const faults: string[] = [];
  const count = { pages: 0, edits: 0, exact: 0 };
  for (const { name, text, isMdx } of pages()) {
    const file = new MarkdownFile(text, isMdx);
    assert.equal(file.text(file.doc), text);
    count.pages++;
    for (let round = 0; round < (list ? 1 : ROUNDS); round++) {
      for (const kind of KINDS) {
        const result = tryEdit(text, file, kind, next, isMdx);
        if (!result) continue;
        count.edits++;
        count.exact += Number(result.isExact);
        if (result.fault) faults.push(`${result.fault} after ${kind} in ${name}:\n${changed(result.before, result.after)}`);
      }
    }
  }
  console.log(JSON.stringify({ ...count, faults: faults.length }));
  assert.equal(faults.length, 0, faults.slice(0, Number(process.env.GALLEY_SWEEP_SHOWN ?? 5)).join("\n\n"));
  assert.ok(count.edits > 20 * count.pages || list);
});

function changed(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let [head, tail] = [0, 0];
  while (head < old.length && old[head] === now[head]) head++;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  return [...old.slice(head, old.length - tail).map((line) => `- ${line}`), ...now.slice(head, now.length - tail).map((line) => `+ ${line}`)].join("\n");
}

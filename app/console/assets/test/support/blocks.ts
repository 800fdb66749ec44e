// The blocks of texts, for the test of the marks: reads `{text, isMdx}[]` from a file and prints their blocks.
import { readFileSync } from "node:fs";
import { split } from "../../src/markdown/parse.ts";

const texts: { text: string; isMdx: boolean }[] = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const lineOf = (text: string, position: number) => text.slice(0, position).split(/\r\n?|\n/).length;
const answer = texts.map(({ text, isMdx }) =>
  split(text, isMdx).blocks.map(({ start, end, node, label }) => ({
    lines: [lineOf(text, start), lineOf(text, end)],
    type: node?.type.name ?? null,
    label,
    source: text.slice(start, end),
    text: node ? node.textContent : "",
  })),
);
process.stdout.write(JSON.stringify(answer));

// Texts with many starts of a construct and no end: the same result as a simple search, without reading the text for each start.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countWords } from "../src/count-words.ts";
import { MarkdownFile } from "../src/markdown/file.ts";
import { isMdxCode } from "../src/markdown/parse.ts";

const LENGTH = 4_000;
const STARTS = ["{{", "{%", "{:", "{#", "[^a", "{{ x %}", "{% x }}", "{", "\\{{", "{{}", "[^ ]"];
const PIECES = [...STARTS, "}}", "%}", "}", "]", " ", "\n", "a", "b c"];
const RAW = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{[:#.][^}\n]*\}|\[\^[^\]\s]+\]/g;

/** Return how many characters the regular expressions read while a function runs. */
function charactersRead(run: () => unknown): number {
  const { exec } = RegExp.prototype;
  let read = 0;
  RegExp.prototype.exec = function (this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, text);
    // A sticky expression without an unlimited repetition reads some characters only.
    const remaining = this.sticky && !this.source.includes("*") ? 1 : text.length - from;
    read += match ? match.index + match[0].length - from : remaining;
    return match;
  };
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return read;
}

function random(seed: number): () => number {
  return () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function rawTexts(text: string): string[] {
  const found: string[] = [];
  new MarkdownFile(text).doc.descendants((node) => void (node.type.name === "raw_inline" && found.push(node.attrs.text)));
  return found;
}

describe("hostile text", () => {
  for (const start of STARTS) {
    it(`is searched for the end of ${start} once`, () => {
      const text = `x ${start}`.repeat(LENGTH / (start.length + 2));
      assert.ok(charactersRead(() => new MarkdownFile(text)) < 60 * text.length);
    });
  }

  it("has the same constructs as a search from each start", () => {
    const next = random(7);
    for (let round = 0; round < 500; round++) {
      // A word at both ends: the text is one paragraph, and no part of it is HTML or a block of an extension.
      const text = `w ${Array.from({ length: 12 }, () => PIECES[Math.floor(next() * PIECES.length)]).join("").replace(/\s*\n\s*/g, "\n")} w`.replaceAll("\\", "");
      assert.deepEqual(rawTexts(text), text.match(RAW) ?? [], JSON.stringify(text));
    }
  });

  it("has the same words with and without a final end", () => {
    for (const [start, words] of [["<a ", 1], ["](b ", 1], ["](c(d ", 2], ["<", 0], ["](", 0], ["```\n", 0], ["<!-- e ", 1]] as const) {
      const count = Math.floor(30_000 / start.length);
      assert.equal(countWords(start.repeat(count)), words * count, start);
    }
  });

  it("has no words of HTML tags and of link targets", () => {
    assert.equal(countWords("a < b <i class=x>c</i> > d"), 4);
    assert.equal(countWords("[a](/b) [c](/d_(e)) [f](<g>) ![h](i 'j')"), 4);
    assert.equal(countWords("[a](/b(c \n[d](/e)\n<f\ng>"), 6);
  });

  it("is code of MDX outside of spans only", () => {
    assert.equal(isMdxCode("`".repeat(LENGTH)), false);
    assert.equal(isMdxCode(`${"`".repeat(LENGTH)}{`), true);
    assert.equal(isMdxCode("``a ` {x}`` b"), false);
    assert.equal(isMdxCode("`a` {x} `b`"), true);
  });
});

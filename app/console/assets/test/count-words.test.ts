import assert from "node:assert/strict";
import { it } from "node:test";
import { countWords } from "../src/count-words.ts";

it("counts words of the prose only", () => {
  assert.equal(countWords("---\ntitle: no words here\n---\n# Two words\n\n```js\nlet code = 1\n```\n\nand [a link](http://example.org/path) <b>bold</b>\n"), 6);
});

it("counts words of a language without spaces", () => {
  assert.ok(countWords("今日は天気がいいです", "ja") > 3);
});

it("counts a long text", () => {
  assert.equal(countWords("two words ".repeat(20_000)), 40_000);
});

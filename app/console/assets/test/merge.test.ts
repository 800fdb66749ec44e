import assert from "node:assert/strict";
import { it } from "node:test";
import { merge } from "../src/markdown/merge.ts";

it("applies an edit of the normalized text to the original", () => {
  assert.equal(merge("* a\n* b", "*   a\n*   b", "* a\n* b c", "word"), "*   a\n*   b c");
  assert.equal(merge("**x** y", "__x__ y", "**x** z", "word"), "__x__ z");
  assert.equal(merge("a\nb\nc", "a \nb\nc", "a\nb", "line"), "a \nb");
});

it("uses the edit where both sides changed the same characters", () => {
  assert.equal(merge("a", "b", "c", "word"), "c");
});

it("returns the edit of an unchanged text and the original of an unchanged edit", () => {
  assert.equal(merge("x", "x", "y", "word"), "y");
  assert.equal(merge("x y", "x  y", "x y", "word"), "x  y");
});

// Marks in texts and in names of elements: which are removed, and what stays.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Names } from "../src/page/ids.ts";
import { cleanText, mayHaveMarks } from "../src/page/marks.ts";

const range = { first: 10, last: 99 };

function mark(number: number): string {
  const digits = [...number.toString(4).padStart(12, "0")].map(Number);
  const check = digits.reduce((sum, digit, index) => sum + (index + 1) * digit, 0) % 4;
  return "\u2063\u2060\u2063" + [...digits, check].map((digit) => String.fromCharCode(0x2060 + digit)).join("");
}

describe("cleanText", () => {
  const similar = mark(42).slice(0, -1) + (mark(42).endsWith("\u2060") ? "\u2061" : "\u2060");
  for (const [text, expected, numbers] of [
    ["", "", []],
    ["plain", "plain", []],
    [`a${mark(10)}b${mark(99)}`, "ab", [10, 99]],
    [`${mark(11)}${mark(11)}`, "", [11, 11]],
    [mark(9), mark(9), []],
    [mark(100) + mark(12), mark(100), [12]],
    [mark(4 ** 12 - 1), mark(4 ** 12 - 1), []],
    [similar, similar, []],
    [mark(42).slice(0, -1), mark(42).slice(0, -1), []],
    [mark(42).slice(0, 7) + mark(43), mark(42).slice(0, 7), [43]],
    ["\u2063\u2060" + mark(44), "\u2063\u2060", [44]],
    ["\u2063" + mark(44), "\u2063", [44]],
    ["a\u2060b\u2063\u200d\u2064", "a\u2060b\u2063\u200d\u2064", []],
    [`a%20b${encodeURIComponent(mark(45))}%20c`, "a%20b%20c", [45]],
    [encodeURIComponent(mark(45)).toLowerCase(), "", [45]],
    [encodeURIComponent("\u2063\u2063" + mark(46) + "\u2060"), "%E2%81%A3%E2%81%A3%E2%81%A0", [46]],
    [encodeURIComponent(mark(9)), encodeURIComponent(mark(9)), []],
    ["100% %E2 %zz " + mark(47), "100% %E2 %zz ", [47]],
  ] as const) {
    it(JSON.stringify(text), () => assert.deepEqual(cleanText(text, range), { text: expected, numbers }));
  }

  it("finds each number of the range", () => {
    for (let number = range.first; number <= range.last; number++) {
      assert.ok(mayHaveMarks(mark(number)));
      assert.deepEqual(cleanText(`x${mark(number)}`, range), { text: "x", numbers: [number] });
    }
  });
});

describe("Names", () => {
  const intro = (number: number) => `intro${mark(number)}`;

  it("removes the marks of names and of links to them, plain and encoded", () => {
    const names = new Names(range, () => false);
    assert.equal(names.restoreAll(intro(20)), "intro");
    assert.equal(names.restoreFragment(encodeURIComponent(intro(20))), "intro");
    assert.equal(names.restoreAll(`other  ${intro(20)}`), "other  intro");
    assert.ok(names.isRestored("intro"));
    assert.ok(!names.isRestored("other"));
  });

  it("keeps names apart that differ by their marks only, in any order", () => {
    const names = new Names(range, (name) => name === "intro-1");
    assert.equal(names.restoreFragment(intro(21)), "intro");
    assert.equal(names.restoreAll(intro(22)), "intro-2");
    assert.equal(names.restoreAll(intro(21)), "intro");
    assert.equal(names.restoreFragment(intro(22)), "intro-2");
    assert.equal(names.restoreAll(intro(23)), "intro-3");
  });

  it("keeps names without marks and invalid fragments", () => {
    const names = new Names(range, () => false);
    assert.equal(names.restoreAll(intro(9)), intro(9));
    assert.equal(names.restoreFragment("%zz"), "%zz");
    assert.equal(names.restoreFragment("%E6%97%A5"), "%E6%97%A5");
    assert.equal(names.restoreFragment(encodeURIComponent(`日${mark(30)}`)), encodeURIComponent("日"));
  });

  it("asks a bounded number of times for a free name", () => {
    let questions = 0;
    const names = new Names({ first: 10, last: 10_009 }, () => ++questions < 0);
    for (let number = 10; number < 10_010; number++) names.restoreAll(intro(number));
    assert.equal(questions, 10_000);
  });
});

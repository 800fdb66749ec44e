// Messages of the page of a preview, which can send anything.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readMessage } from "../src/page-channel.ts";

const RECT = { x: 1, y: 2, width: 3, height: 4 };

describe("messages of the page", () => {
  it("are read", () => {
    const page = { type: "page", url: "/a", title: "A", main: [1], numbers: [1, 2], misplaced: [2] };
    assert.deepEqual(readMessage({ ...page, more: 1 }), page);
    const select = { type: "select", numbers: [3], rect: RECT, text: "A", href: null, source: null };
    assert.deepEqual(readMessage(select), select);
    const source = { file: "a.md", field: "title" };
    assert.deepEqual(readMessage({ ...select, source: { ...source, more: 1 } }), { ...select, source });
    for (const other of [[], "a", { file: "a.md" }, { field: ["title"] }]) assert.deepEqual(readMessage({ ...select, source: other }), select);
    assert.deepEqual(readMessage({ type: "move", rect: null }), { type: "move", rect: null });
    assert.deepEqual(readMessage({ type: "leave" }), { type: "leave" });
  });

  it("of other types are ignored", () => {
    for (const data of [null, 1, "leave", [], {}, { type: "save" }, { type: "select", numbers: [1], rect: { x: "1" } }, { type: "select", rect: { ...RECT, y: NaN } }]) assert.equal(readMessage(data), null);
  });

  it("have only numbers of marks, texts and rectangles of a limited size", () => {
    const numbers = [-1, 1.5, 4 ** 12, "1", NaN, ...Array(600).fill(7)];
    const read = readMessage({ type: "page", url: "/".repeat(9000), title: {}, main: { 0: 1 }, numbers });
    assert.deepEqual(read, { type: "page", url: "/".repeat(2000), title: "", main: [], numbers: Array(495).fill(7), misplaced: [] });
    const select = readMessage({ type: "select", numbers: [], rect: { ...RECT, x: -1e9, width: 1e9 }, text: 1, href: 1 });
    assert.deepEqual(select, { type: "select", numbers: [], rect: { ...RECT, x: -100_000, width: 100_000 }, text: "", href: null, source: null });
  });
});

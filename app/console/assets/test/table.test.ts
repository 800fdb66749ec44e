// Tables, tasks, struck text and rules: what is read, and the bytes after an edit.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EditorState, TextSelection, type Command } from "prosemirror-state";
import { addColumnAfter, addRowAfter, deleteColumn, deleteRow } from "prosemirror-tables";
import { MarkdownFile } from "../src/markdown/file.ts";
import { schema } from "../src/markdown/schema.ts";

/** Return the text after a command at the end of a word, or after text was typed there. */
function edit(text: string, where: string, change: Command | string): string {
  const file = new MarkdownFile(text);
  let state = EditorState.create({ doc: file.doc });
  let position = -1;
  state.doc.descendants((node, at) => {
    if (position < 0 && node.isText && node.text!.includes(where)) position = at + node.text!.indexOf(where) + where.length;
    return true;
  });
  assert.ok(position >= 0, where);
  state = state.apply(state.tr.setSelection(TextSelection.create(state.doc, position)));
  if (typeof change === "string") state = state.apply(state.tr.insertText(change));
  else assert.ok(change(state, (transaction) => (state = state.apply(transaction))));
  const written = file.text(state.doc);
  const again = new MarkdownFile(written).doc;
  assert.equal(again.childCount, state.doc.childCount);
  assert.ok([...again.children].every((node) => node.type.name !== "source_block"), written);
  return written;
}

const types = (text: string): string[] => [...new MarkdownFile(text).doc.children].map((node) => node.type.name);

const PADDED = "Before\n\n| Name   | Price | Note        |\n|:-------|------:|-------------|\n| Tea    |  2.50 | `a \\| b`    |\n| Coffee |  3.00 | [x](y) *em* |\n\nAfter\n";
const BARE = "a | b\n-|-\n1 | 2\n3 | 4\n";
const RAGGED = "| a | b | c |\n| - | - | - |\n| 1 |\n| 2 | 3 |\n";

describe("tables", () => {
  it("change one cell and no other byte", () => {
    assert.equal(edit(PADDED, "Tea", "!"), PADDED.replace("Tea ", "Tea! "));
    assert.equal(edit(PADDED, "a | b", "?"), PADDED.replace("a \\| b`", "a \\| b?`"));
    assert.equal(edit(PADDED, "Price", " €"), PADDED.replace("Price", "Price €"));
    assert.equal(edit(BARE, "3", "3"), BARE.replace("3 |", "33 |"));
    assert.equal(edit(RAGGED, "2", "2"), RAGGED.replace("2 |", "22 |"));
    assert.equal(edit(PADDED.replaceAll("\n", "\r\n"), "Tea", "!"), PADDED.replace("Tea ", "Tea! ").replaceAll("\n", "\r\n"));
  });

  it("add and delete a row and keep the others", () => {
    assert.equal(edit(PADDED, "Tea", addRowAfter), PADDED.replace("| Coffee", "|  |  |  |\n| Coffee"));
    assert.equal(edit(PADDED, "Tea", deleteRow), PADDED.replace(/\| Tea.*\n/, ""));
    assert.equal(edit(BARE, "1", addRowAfter), "a | b\n-|-\n1 | 2\n|  |  |\n3 | 4\n");
  });

  it("make the next row the header if the header is deleted", () => {
    assert.equal(edit("| a | b |\n|--:|---|\n| 1 | 2 |\n", "a", deleteRow), "| 1 | 2 |\n|--:|---|\n");
  });

  it("add and delete a column", () => {
    assert.equal(edit("| a | b |\n|---|--:|\n| 1 | 2 |\n", "b", addColumnAfter), "| a | b |  |\n|---|--:| --- |\n| 1 | 2 |  |\n");
    assert.equal(edit("| a | b |\n| --- | --: |\n| 1 | 2 |\n", "a", deleteColumn), "| b |\n| --: |\n| 2 |\n");
  });

  it("stay tables if rows that were not edited would be read as another block", () => {
    assert.equal(edit("  1.  |**b**  \n|  --:  |---  |\n", "b", deleteColumn), "| 1. |\n| ---: |\n");
    assert.equal(edit("| a | b |\n|---|---|\n  | \\&amp;\\\\\n", "a", deleteRow), "| \\&amp;\\\\ |  |\n|---|---|\n");
    assert.equal(edit("- x| a\n|:--|-|\n  c | d\n", "a", addColumnAfter), "| - x | a |  |\n| :--- | --- | --- |\n| c | d |  |\n");
  });

  it("escape separators and write breaks in one line", () => {
    const typed = edit("| a |\n| - |\n| b |\n", "b", " x|y <i> *z*");
    assert.equal(new MarkdownFile(typed).doc.textContent, "ab x|y <i> *z*");
    const broken = edit("| a |\n| - |\n| b |\n", "b", (state, dispatch) => {
      dispatch!(state.tr.replaceSelectionWith(schema.nodes.hard_break!.create()).insertText("c"));
      return true;
    });
    assert.equal(broken, "| a |\n| - |\n| b<br />c |\n");
  });

  it("keep spaces of a cell out of the file", () => {
    assert.equal(edit("| a | b |\n| - | - |\n| 1 | 2 |\n", "1", "  "), "| a | b |\n| - | - |\n| 1 | 2 |\n");
  });

  for (const [name, text, expected] of [
    ["cells beyond the columns", "| a | b |\n| - | - |\n| 1 | 2 | 3 |\n", "source_block"],
    ["an attribute list below", "| a |\n| - |\n| 1 |\n{: .wide}\n", "source_block"],
    ["a shortcode as a row", "| a |\n| - |\n{{< row >}}\n", "source_block"],
    ["a table in a list", "- | a |\n  | - |\n  | 1 |\n", "source_block"],
    ["a table in a quote", "> | a |\n> | - |\n", "source_block"],
    ["HTML in a cell", "| a |\n| - |\n| <b>x</b> <img src=y> |\n", "table"],
    ["a table after a paragraph", "text\n| a | b |\n| - | - |\n", "table"],
  ] as const) {
    it(`read ${name} as ${expected}`, () => assert.equal(types(text).at(-1), expected));
  }
});

describe("tasks", () => {
  const LIST = "- [ ] one\n- [x] two\n* [X] three\n";

  it("keep their brackets", () => {
    assert.equal(edit(LIST, "one", "!"), LIST.replace("one", "one!"));
    assert.equal(edit("1. [ ] a\n   - [x] b\n", "b", "!"), "1. [ ] a\n   - [x] b!\n");
  });

  it("are checked by one character", () => {
    const check: Command = (state, dispatch) => {
      const at = state.selection.$from.before(-1);
      dispatch!(state.tr.setNodeAttribute(at, "task", "x"));
      return true;
    };
    assert.equal(edit(LIST, "one", check), LIST.replace("[ ]", "[x]"));
  });

  it("are only items with brackets and a space", () => {
    const task = (text: string) => new MarkdownFile(text).doc.firstChild!.firstChild!.attrs.task;
    assert.deepEqual(
      ["- [ ] a", "- [X] a", "- [ ]", "- [ ]a", "- [y] a", "- [ ]**a**", "- \\[ ] a", "- `[ ] a`"].map(task),
      [" ", "X", " ", null, null, null, null, null],
    );
  });

  it("are not made from typed brackets", () => {
    const text = edit("- a\n", "a", "");
    assert.equal(text, "- a\n");
    const file = new MarkdownFile("- a\n");
    const state = EditorState.create({ doc: file.doc });
    const written = file.text(state.apply(state.tr.insertText("[ ] ", 3)).doc);
    assert.equal(new MarkdownFile(written).doc.firstChild!.firstChild!.attrs.task, null);
    assert.equal(new MarkdownFile(written).doc.textContent, "[ ] a");
  });
});

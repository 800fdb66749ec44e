// The editor of one block: the other blocks keep their bytes, and the selection stays inside.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joinBackward, joinForward, selectAll, splitBlock } from "prosemirror-commands";
import { type Command, EditorState, Plugin, Selection, TextSelection } from "prosemirror-state";
import { Decoration, DecorationSet } from "prosemirror-view";
import { MarkdownFile } from "../src/markdown/file.ts";
import { onlyBlock } from "../src/only-block.ts";

const classes = { Plugin, Selection, TextSelection, Decoration, DecorationSet };
const TEXT = "First  block\n\n*  odd\n*  list\n\n\nMiddle _block_\n\nLast\\\nblock\n";

class Editor {
  readonly file = new MarkdownFile(TEXT);
  state: EditorState;

  constructor(index: number, line?: string) {
    const only = onlyBlock(classes, index, line);
    this.state = EditorState.create({ doc: this.file.doc, plugins: [only.plugin] });
    this.state = this.state.apply(this.state.tr.setSelection(only.end(this.state)));
  }

  type(value: string): this {
    this.state = this.state.apply(this.state.tr.insertText(value));
    return this;
  }

  run(command: Command): this {
    command(this.state, (transaction) => (this.state = this.state.apply(transaction)));
    return this;
  }

  /** Return the classes of the top-level blocks: `-` for a hidden one, `+` for a shown one. */
  get shown(): string {
    const hidden = this.state.plugins[0]!.props.decorations!.call(this.state.plugins[0]!, this.state) as unknown as { find(): { from: number }[] };
    const starts = new Set(hidden.find().map(({ from }) => from));
    let out = "";
    this.state.doc.forEach((_node, offset) => (out += starts.has(offset) ? "-" : "+"));
    return out;
  }

  get text(): string {
    return this.file.text(this.state.doc);
  }
}

describe("one block", () => {
  it("is shown, and its edit changes no other byte", () => {
    const editor = new Editor(2);
    assert.equal(editor.shown, "--+-");
    assert.equal(editor.type("!").text, TEXT.replace("_block_", "_block!_"));
  });

  it("can become several blocks", () => {
    const editor = new Editor(2).run(splitBlock).type("More");
    assert.equal(editor.shown, "--++-");
    assert.ok(editor.text.startsWith("First  block\n\n*  odd\n*  list\n\n\nMiddle _block_\n\n"));
  });

  it("is not joined with its neighbours", () => {
    const editor = new Editor(2);
    editor.run(joinForward);
    editor.state = editor.state.apply(editor.state.tr.setSelection(Selection.near(editor.state.doc.resolve(editor.state.selection.$from.before(1)), 1)));
    assert.equal(editor.run(joinBackward).text, TEXT);
  });

  it("keeps the selection inside", () => {
    const editor = new Editor(2);
    for (const at of [1, editor.state.doc.content.size - 1]) {
      editor.state = editor.state.apply(editor.state.tr.setSelection(TextSelection.near(editor.state.doc.resolve(at))));
      assert.equal(editor.state.selection.$from.parent.textContent, "Middle block");
    }
    assert.equal(editor.run(selectAll).type("New").text, TEXT.replace("Middle _block_", "New"));
  });

  it("has the cursor in the line that the page shows", () => {
    const at = (text: string) => new Editor(1, text).state.selection.$from.parent.textContent;
    assert.deepEqual([at(" “Odd” "), at("odd"), at("list"), at("none"), at("")], ["list", "odd", "list", "list", "list"]);
  });

  it("that does not exist hides all and changes nothing", () => {
    const editor = new Editor(9);
    assert.deepEqual([editor.shown, editor.type("x").text], ["----", TEXT]);
  });
});

// The text of a Markdown file after edits of its document: only the edited block may differ.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Node } from "prosemirror-model";
import { EditorState } from "prosemirror-state";
import { MarkdownFile } from "../src/markdown/file.ts";
import { definitionsOf } from "../src/markdown/parse.ts";
import { schema } from "../src/markdown/schema.ts";

const SAMPLE = [
  "---\ntitle: 'Fog  signals'   # comment\n---",
  "Setext title\n============",
  "Para one with\nhard_wrapped __bold__, *em*, [a link][ref], ![alt *x*](a%20b.png 't')  \nand <kbd>K</kbd> &amp; {{< ref \"a_b\" >}}.[^1]",
  "*   wide item\n*   other `code`\n\n    more\n    1) deep\n    2) deeper",
  "3. three\n4. four",
  "> quote\nlazy line",
  "- [ ] task\n- [x] done",
  "~~~js {1}\nconst a = `b`;\n~~~",
  "    indented\n\n    code",
  "***",
  "<div class=x>\n  <p>html</p>\n</div>",
  "| a | b |\n|---|:-:|\n| 1 | 2 |",
  "{{< figure src=\"x.png\" >}}",
  ":::note\nText\n:::",
  "Trailing # closing ##   ",
  "## Closed heading ##",
  "[ref]: http://example.org 'Title'\n[^1]: A note.",
].join("\n\n") + "\n";

function edit(file: MarkdownFile, change: (state: EditorState) => EditorState["tr"]): string {
  const state = EditorState.create({ doc: file.doc });
  return file.text(state.apply(change(state)).doc);
}

/** Return the position at the end of the last text in top-level node `index`. */
function lastText(doc: Node, index: number): number {
  let from = 0;
  for (let i = 0; i < index; i++) from += doc.child(i).nodeSize;
  let position = -1;
  doc.nodesBetween(from, from + doc.child(index).nodeSize, (node, at) => {
    if (node.isTextblock) position = at + 1 + node.content.size;
    return true;
  });
  return position;
}

function changedLines(before: string, after: string): string[] {
  const lines = new Set(before.split("\n"));
  return after.split("\n").filter((line) => !lines.has(line));
}

describe("MarkdownFile", () => {
  for (const [name, lineEnd] of Object.entries({ LF: "\n", CRLF: "\r\n" })) {
    it(`returns the same bytes without an edit (${name})`, () => {
      for (const text of [SAMPLE, `${SAMPLE}\n\n`, SAMPLE.trimEnd(), `\n\n${SAMPLE}`, "", "\n", "# a\ntext\n- x\n", "\t\n a"]) {
        const written = text.replaceAll("\n", lineEnd);
        const file = new MarkdownFile(written);
        assert.equal(file.text(file.doc), written);
        assert.equal(file.text(schema.nodeFromJSON(file.doc.toJSON())), written);
      }
    });

    it(`changes one line for a word typed into any block (${name})`, () => {
      const written = SAMPLE.replaceAll("\n", lineEnd);
      const file = new MarkdownFile(written);
      file.doc.forEach((node, _offset, index) => {
        const position = lastText(file.doc, index);
        if (position < 0) return;
        const after = edit(file, (state) => state.tr.insertText(" ZZ", position));
        assert.equal(after.split(lineEnd).length, written.split(lineEnd).length, node.type.name);
        assert.deepEqual(changedLines(written, after).map((line) => line.includes("ZZ")), [true], node.type.name);
      });
    });
  }

  it("shows constructs without an exact Markdown form as source", () => {
    const labels: string[] = [];
    new MarkdownFile(SAMPLE).doc.forEach((node) => labels.push(node.attrs.label ?? node.type.name));
    assert.deepEqual(labels, [
      "Front matter", "heading", "paragraph", "bullet_list", "ordered_list", "blockquote", "bullet_list", "code_block", "code_block",
      "horizontal_rule", "HTML", "table", "card", "Directive", "paragraph", "heading", "Link addresses", "Footnote",
    ]);
  });

  it("shows code of an MDX file as source", () => {
    const { doc } = new MarkdownFile("import X from './x'\n\n<div a={1} />\n\nText {value}\n\nplain\n", true);
    assert.deepEqual([...doc.children].map((node) => node.attrs.label ?? node.type.name), ["MDX", "HTML", "MDX", "paragraph"]);
  });

  it("returns the original bytes after an edit that is typed back", () => {
    const file = new MarkdownFile(SAMPLE);
    const state = EditorState.create({ doc: file.doc });
    const typed = state.apply(state.tr.insertText("ZZ", lastText(file.doc, 2)));
    const back = typed.apply(typed.tr.delete(lastText(typed.doc, 2) - 2, lastText(typed.doc, 2)));
    assert.equal(file.text(back.doc), SAMPLE);
  });

  it("keeps the other lines of a deleted, a split and a new block", () => {
    const file = new MarkdownFile("one\n\n\n\ntwo words\n* a\n* b\n\nthree\n");
    const second = file.doc.child(0).nodeSize;
    assert.equal(edit(file, (state) => state.tr.delete(second, second + file.doc.child(1).nodeSize)), "one\n\n* a\n* b\n\nthree\n");
    assert.equal(edit(file, (state) => state.tr.split(second + 4)), "one\n\n\n\ntwo\n\nwords\n* a\n* b\n\nthree\n");
    const added = schema.nodes.paragraph!.create(null, schema.text("new"));
    assert.equal(edit(file, (state) => state.tr.insert(second, added)), "one\n\nnew\n\n\n\ntwo words\n* a\n* b\n\nthree\n");
  });

  it("adds a blank line where an edited block would merge with its neighbour", () => {
    const file = new MarkdownFile("# Title\ntext\n");
    assert.equal(edit(file, (state) => state.tr.setBlockType(1, 1, schema.nodes.paragraph!)), "Title\n\ntext\n");
    const lists = new MarkdownFile("- a\n\nbetween\n\n- b\n");
    const start = lists.doc.child(0).nodeSize;
    assert.equal(edit(lists, (state) => state.tr.delete(start, start + lists.doc.child(1).nodeSize)), "- a\n\n* b\n");
  });

  for (const [name, text] of [
    ["a comment", "# Head\n<!-- toc -->\nnext\n"],
    ["HTML", "## Head\n<div>\n  a\n</div>\n\nnext\n"],
    ["a table", "Head\n====\n| a |\n|---|\n| 1 |\n"],
    ["a rule", "# Head\n***\nnext\n"],
    ["code", "# Head\n```html\n<b>\n```\n"],
    ["a link address", "# Head\n[a]: /b\n[a]\n"],
    ["a footnote", "# Head\n[^1]: note\n"],
    ["a tag", "# Head\n{% include x %}\n"],
  ] as const) {
    it(`adds no blank line between a heading and ${name}`, () => {
      const file = new MarkdownFile(text);
      assert.equal(edit(file, (state) => state.tr.insertText(" ZZ", 5)), text.replace("Head", "Head ZZ"));
    });
  }

  for (const [name, before, expected] of [
    ["a footnote", "[^1]: A note.\n# Head\n", "[^1]: A note.\n\nHead\n"],
    ["a tag", "{% include x %}\n# Head\n", "{% include x %}\n\nHead\n"],
    ["a table with cells beyond its columns", "| a |\n|---|\n| 1 | 2 |\n# Head\n", "| a |\n|---|\n| 1 | 2 |\n\nHead\n"],
    ["a comment", "<!-- a -->\n# Head\n", "<!-- a -->\nHead\n"],
    ["front matter", "+++\na = 1\n+++\n# Head\n", "+++\na = 1\n+++\nHead\n"],
  ] as const) {
    it(`separates a heading that becomes text from ${name} above`, () => {
      const file = new MarkdownFile(before);
      const position = lastText(file.doc, 1);
      assert.equal(edit(file, (state) => state.tr.setBlockType(position, position, schema.nodes.paragraph!, { key: 1 })), expected);
    });
  }

  for (const text of [
    "- [A]\n- [b] one\n\n  [a]: /x\n  [b]: /z 'T'\n\n[a]\n",
    "1.  one [a]\n2.  two\n\n\n    [a]: <x y>\n",
    "* one\n  * [a]\n\n    [a]: http://y\n\n# Head\n",
    "- one\n\n- two [a][]\n\n\t[a]: /b\n- three\n\n  [c]: /d\n",
  ]) {
    it(`changes one line of a list that ends with link addresses ${JSON.stringify(text)}`, () => {
      for (const before of [text, text.replaceAll("\n", "\r\n")]) {
        const file = new MarkdownFile(before);
        let position = -1;
        file.doc.descendants((node, at) => void (node.isText && node.text!.includes("one") && (position = at + node.text!.indexOf("one") + 3)));
        assert.equal(file.text(file.doc), before);
        assert.equal(edit(file, (state) => state.tr.insertText("ZZ", position)), before.replace("one", "oneZZ"));
      }
    });
  }

  for (const [name, text] of [
    ["an item", "- [A]\n\n  [a]: /x(y)\n  [b]: /z 'T \"q\"'\n- [b]\n\n[a]\n"],
    ["a quote", "> [A b]\n>\n> [a b]: <c d>\n\n[a b]\n"],
    ["a nested list", "* x\n  * [a]\n\n    [a]: http://y\n* z\n\n[a]\n"],
    ["a list of numbers", "1. a\n\n   [Ä]: /ö\n2. [ä]\n\nend\n"],
    ["a list above them", "- a\n\n  [b]: /c\n\nend\n"],
    ["a nested list above them", "* x\n  * [a]\n\n    [a]: http://y\n\n[a]\n"],
  ] as const) {
    it(`keeps the link addresses of ${name} that is edited or deleted`, () => {
      for (const before of [text, text.replaceAll("\n", "\r\n")]) {
        const file = new MarkdownFile(before);
        const size = file.doc.child(0).nodeSize;
        for (const change of [
          (state: EditorState) => state.tr.delete(0, size),
          (state: EditorState) => state.tr.replaceWith(0, size, schema.nodes.paragraph!.create({ key: 0 }, schema.text("new"))),
          (state: EditorState) => state.tr.insertText(" *ZZ", lastText(file.doc, 0)),
        ]) {
          assert.deepEqual([...definitionsOf(edit(file, change))], [...definitionsOf(before)]);
        }
      }
    });
  }

  it("separates a new list from a list that is shown as source", () => {
    for (const [before, expected] of [
      ["1. a\n2. b\n</Steps>\n\ntext\n", "1. a\n2. b\n</Steps>\n\n1) text\n"],
      ["1) {x}\n\ntext\n", "1) {x}\n\n1. text\n"],
      ["<Steps>\n\ntext\n", "<Steps>\n\n1. text\n"],
    ] as const) {
      const file = new MarkdownFile(before, true);
      const wrapped = schema.nodes.ordered_list!.create(null, schema.nodes.list_item!.create(null, schema.nodes.paragraph!.create(null, schema.text("text"))));
      const at = file.doc.child(0).nodeSize;
      assert.equal(edit(file, (state) => state.tr.replaceWith(at, state.doc.content.size, wrapped)), expected);
    }
  });

  it("closes a code block without an end before a new block", () => {
    for (const fence of ["```", "~~~~"]) {
      const file = new MarkdownFile(`a\n\n${fence}js\ncode\n`);
      const added = schema.nodes.paragraph!.create(null, schema.text("new"));
      assert.equal(edit(file, (state) => state.tr.insert(state.doc.content.size, added)), `a\n\n${fence}js\ncode\n${fence}\n\nnew\n`);
    }
  });

  it("removes link addresses that the author deletes", () => {
    const file = new MarkdownFile("- a\n\n  [b]: /c\n\n[d]: /e\n\nend\n");
    const [list, ...sources] = [...file.doc.children].map((node) => node.nodeSize);
    assert.equal(edit(file, (state) => state.tr.delete(list!, list! + sources[0]! + sources[1]!)), "- a\n\nend\n");
  });

  it("escapes typed text only where Markdown would read it as markup", () => {
    const typed = (text: string) => edit(new MarkdownFile("x\n"), (state) => state.tr.insertText(text, 1, 2));
    assert.equal(typed("snake_case [ ] a*b 1. $x_1$"), "snake_case [ ] a*b 1. $x_1$\n");
    assert.equal(typed("*not em*"), "\\*not em\\*\n");
    assert.equal(typed("# no heading"), "\\# no heading\n");
    assert.equal(typed("1. no list"), "1\\. no list\n");
  });

  it("writes new formatting", () => {
    const file = new MarkdownFile("a word here\n");
    assert.equal(edit(file, (state) => state.tr.addMark(3, 7, schema.marks.strong!.create())), "a **word** here\n");
    assert.equal(edit(file, (state) => state.tr.addMark(3, 7, schema.marks.link!.create({ href: "/b c" }))), "a [word](</b c>) here\n");
  });

  it("never loses text in an unusual combination of marks", () => {
    const file = new MarkdownFile("ab cd\n");
    const { strong, em, code } = schema.marks;
    const after = edit(file, (state) => state.tr.addMark(2, 5, strong!.create()).addMark(1, 4, em!.create()).addMark(4, 6, code!.create()));
    assert.equal(after.replace(/[*`_]|<\/?\w+>/g, "").trim(), "ab cd");
  });

  it("opens a text of one megabyte and writes an edit of it", () => {
    const text = SAMPLE.slice(SAMPLE.indexOf("Setext")).repeat(1500).slice(0, 1_000_000);
    const file = new MarkdownFile(text);
    assert.equal(file.text(file.doc), text);
    const position = lastText(file.doc, 100);
    assert.equal(changedLines(text, edit(file, (state) => state.tr.insertText(" ZZ", position))).length, 1);
  });
});

// The notation of a file after edits: lists, breaks, headings, marks, and text that would become markup.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { splitListItem, sinkListItem } from "prosemirror-schema-list";
import { EditorState, TextSelection, type Transaction } from "prosemirror-state";
import { MarkdownFile } from "../src/markdown/file.ts";
import { schema } from "../src/markdown/schema.ts";

type Edit = (state: EditorState) => Transaction;

function edit(text: string, ...edits: Edit[]): string {
  const file = new MarkdownFile(text, false);
  return written(file, edits);
}

function written(file: MarkdownFile, edits: Edit[]): string {
  const state = edits.reduce((now, each) => now.apply(each(now)), EditorState.create({ doc: file.doc }));
  return file.text(state.doc);
}

/** Return the position after the first occurrence of a text. */
function after(state: EditorState, text: string): number {
  let position = -1;
  state.doc.descendants((node, at) => {
    const index = node.isText ? node.text!.indexOf(text) : -1;
    if (position < 0 && index >= 0) position = at + index + text.length;
    return true;
  });
  assert.ok(position >= 0, text);
  return position;
}

const type = (where: string, text: string): Edit => (state) => state.tr.insertText(text, after(state, where));

/** Press Enter in a list after a text, and type. */
function enter(where: string, text: string, sink = false): Edit {
  return (state) => {
    const start = state.apply(state.tr.setSelection(TextSelection.create(state.doc, after(state, where))));
    let next = start;
    splitListItem(schema.nodes.list_item!)(next, (tr) => (next = next.apply(tr)));
    if (sink) sinkListItem(schema.nodes.list_item!)(next, (tr) => (next = next.apply(tr)));
    if (text) next = next.apply(next.tr.insertText(text));
    return state.tr.replaceWith(0, state.doc.content.size, next.doc.content);
  };
}

const mark = (name: string, from: string): Edit => (state) => {
  const end = after(state, from);
  return state.tr.addMark(end - from.length, end, schema.marks[name]!.create());
};

function shown(text: string): unknown {
  return new MarkdownFile(text).doc.toJSON();
}

const NINE = Array.from({ length: 9 }, (_, index) => `${index + 1}. Step ${index + 1}\n\n   ![s](/img/${index + 1}.png)\n`).join("\n");
const TWELVE = Array.from({ length: 12 }, (_, index) => `${index + 1}. Step\n\n    More\n`).join("\n");

describe("lists", () => {
  it("keeps blocks inside of items with two digits", () => {
    const text = edit(`${NINE}\nDone\n`, enter("Step 1", "new"));
    const doc = new MarkdownFile(text).doc;
    assert.equal(doc.child(0).type.name, "ordered_list");
    assert.equal(doc.child(0).childCount, 10);
    assert.equal(doc.child(0).lastChild!.childCount, 2);
    assert.match(text, /^10\. Step 9\n\n {4}!\[s\]/m);
    assert.equal(new MarkdownFile(TWELVE).doc.child(0).childCount, 12);
  });

  for (const [name, before, expected] of [
    ["four spaces", "- aa\n    - bb\n    - cc\n- dd\n", "- aa\n    - bb\n    - new\n    - cc\n- dd\n"],
    ["two spaces", "- aa\n  - bb\n  - cc\n- dd\n", "- aa\n  - bb\n  - new\n  - cc\n- dd\n"],
    ["tabs", "- aa\n\t- bb\n\t- cc\n- dd\n", "- aa\n\t- bb\n\t- new\n\t- cc\n- dd\n"],
    ["wide markers", "*   aa\n    *   bb\n    *   cc\n*   dd\n", "*   aa\n    *   bb\n    *   new\n    *   cc\n*   dd\n"],
    ["numbers", "1. aa\n   - bb\n   - cc\n2. dd\n", "1. aa\n   - bb\n   - new\n   - cc\n2. dd\n"],
    ["numbers with four", "1. aa\n    1. bb\n    2. cc\n2. dd\n", "1. aa\n    1. bb\n    2. new\n    3. cc\n2. dd\n"],
  ] as const) {
    it(`adds an item to a nested list with ${name}`, () => assert.equal(edit(before, enter("bb", "new")), expected));
  }

  it("nests a new item like the other items of the file", () => {
    assert.equal(edit("- aa\n    - bb\n- dd\n", enter("dd", "ee", true)), "- aa\n    - bb\n- dd\n    - ee\n");
    assert.equal(edit("* aa\n\t* bb\n* dd\n", enter("dd", "ee", true)), "* aa\n\t* bb\n* dd\n\t* ee\n");
    assert.equal(edit("- aa\n- dd\n", enter("dd", "ee", true)), "- aa\n- dd\n  - ee\n");
  });

  it("keeps equal numbers and the marker of the list", () => {
    assert.equal(edit("1. a\n1. b\n1. c\n", enter("b", "new")), "1. a\n1. b\n1. new\n1. c\n");
    assert.equal(edit("+ a\n+ b\n", enter("b", "new")), "+ a\n+ b\n+ new\n");
    assert.equal(edit("* item\n* another item\n", enter("item", "new")), "* item\n* new\n* another item\n");
    assert.equal(edit("1) a\n2) b\n", enter("a", "new")), "1) a\n2) new\n3) b\n");
  });

  it("reads empty nested items back as they were typed", () => {
    for (const before of ["- a\n- b\n", "* a\n* b\n", "1. a\n2. b\n"]) {
      const file = new MarkdownFile(before);
      const state = EditorState.create({ doc: file.doc });
      const typed = state.apply(enter("b", "", true)(state));
      const items = (doc: typeof file.doc) => {
        let count = 0;
        doc.descendants((node) => void (count += Number(node.type.name === "list_item")));
        return count;
      };
      assert.equal(items(new MarkdownFile(file.text(typed.doc)).doc), 3, before);
    }
  });
});

describe("inline notation", () => {
  const breakAfter = (where: string): Edit => (state) => state.tr.insert(after(state, where), schema.nodes.hard_break!.create());

  it("writes breaks in the notation of the file", () => {
    assert.equal(edit("Roses  \nare red  \nend\n", type("are red", " ZZ")), "Roses  \nare red ZZ  \nend\n");
    assert.equal(edit("Roses  \nare red\n", breakAfter("are")), "Roses  \nare  \n red\n");
    assert.equal(edit("Roses\\\nare red\n", breakAfter("are")), "Roses\\\nare\\\n red\n");
    assert.equal(edit("Roses\n", breakAfter("Ros")), "Ros  \nes\n");
  });

  it("writes marks and headings in the notation of the file", () => {
    assert.equal(edit("__a__ _b_ word\n", mark("strong", "word")), "__a__ _b_ __word__\n");
    assert.equal(edit("__a__ _b_ word\n", mark("em", "word")), "__a__ _b_ _word_\n");
    const heading = (level: number): Edit => (state) => state.tr.setBlockType(after(state, "Next"), after(state, "Next"), schema.nodes.heading!, { level });
    assert.equal(edit("Title\n=====\n\nNext\n", heading(2)), "Title\n=====\n\nNext\n---\n");
    assert.equal(edit("# Title\n\nNext\n", heading(2)), "# Title\n\n## Next\n");
  });

  it("writes emphasis beside punctuation as HTML where Markdown has no form", () => {
    for (const [before, word] of [["これは「重要」です。\n", "「重要」"], ["这是“重点”吗？\n", "“重点”"], ["이것은(중요)입니다.\n", "(중요)"], ["a.(b)c\n", "(b)"]] as const) {
      const text = edit(before, mark("strong", word));
      assert.equal(new MarkdownFile(text).doc.textContent, before.trim());
      let bold = "";
      new MarkdownFile(text).doc.descendants((node) => void (bold += node.isText && node.marks.some((each) => each.type.name === "strong") ? node.text : ""));
      assert.equal(bold, word);
    }
  });

  it("reads HTML marks as formatting and keeps them", () => {
    const text = "A <b>bold</b>, <em>slanted *x*</em> and <span class=a>other</span> text\n";
    assert.equal(edit(text, type("text", " ZZ")), text.replace("text", "text ZZ"));
    assert.equal(new MarkdownFile("*a <b>b* c</b>\n").doc.textContent.includes("b"), true);
    for (const odd of ["<b>a\n", "a</b>\n", "<b>*a</b>*\n", "<b><i>a</b></i>\n"]) assert.equal(edit(odd, type("a", " ZZ")), odd.replace("a", "a ZZ"));
  });

  it("leaves the space outside of bold text", () => {
    assert.equal(edit("one two three\n", mark("strong", "one two ")), "**one two** three\n");
  });

  it("keeps ideographic and no-break spaces, and CRLF", () => {
    assert.equal(edit("\u3000段落です。\n", type("段落", "ZZ")), "\u3000段落ZZです。\n");
    assert.equal(edit("a\u00a0b c\r\nd\r\n", type("c", " ZZ")), "a\u00a0b c ZZ\r\nd\r\n");
  });

  it("escapes brackets in descriptions of images", () => {
    for (const alt of ["a ] b", "[x", "a [b] c", "\\"]) {
      const text = edit("x\n", (state) => state.tr.replaceWith(1, 2, schema.nodes.image!.create({ src: "/a.png", alt })));
      assert.equal(new MarkdownFile(text).doc.firstChild!.firstChild!.attrs.alt, alt, text);
    }
  });

  it("keeps an address with a bare percent sign", () => {
    const text = "Before\n\n![chart](/img/100%.png)\n\nAfter\n";
    assert.equal(edit(text, type("After", " ZZ")), text.replace("After", "After ZZ"));
  });
});

describe("typed text that would become markup", () => {
  const TEXTS = [" <name> and List<String>", " &copy; &#169; &amp;", " {{< ref >}} {{ page.title }} {% if %}", " {#id} {.class} {: x}", " [a](b) ![c](d) [^1]", " `code` **b** _i_ ~~s~~", " <!-- c --> <br> </p>", " http://a.example <mailto:a@b.c>"];
  for (const isMdx of [false, true]) {
    for (const typed of [...TEXTS, ...(isMdx ? [" {name} {1 + 1}", " <Tag />"] : [])]) {
      it(`reads${typed} back as the same letters${isMdx ? " in MDX" : ""}`, () => {
        const file = new MarkdownFile("Use\n", isMdx);
        const text = written(file, [type("Use", typed)]);
        const doc = new MarkdownFile(text, isMdx).doc;
        assert.equal(doc.childCount, 1);
        assert.equal(doc.firstChild!.type.name, "paragraph", text);
        assert.deepEqual(doc.firstChild!.content.toJSON(), [{ type: "text", text: `Use${typed}` }], text);
      });
    }
  }

  it("is raw in MDX only outside of code and links", () => {
    const labels = (text: string) => [...new MarkdownFile(text, true).doc.children].map((node) => node.type.name);
    assert.deepEqual(labels("Use `<Tag>` and `{x}`.\n\n[a](/b{c}) \\{x\\}\n\n``a ` <b>`` c\n"), ["paragraph", "paragraph", "paragraph"]);
    assert.deepEqual(labels("Use {x}.\n\nimport A from 'a'\n\n`a` <B/>\n"), ["source_block", "source_block", "source_block"]);
  });
});

it("shows a file in the same way after it was written without an edit", () => {
  for (const text of [NINE, TWELVE, "- a\n  - b\n", "*   a\n\n    b\n"]) assert.deepEqual(shown(new MarkdownFile(text).text(new MarkdownFile(text).doc)), shown(text));
});

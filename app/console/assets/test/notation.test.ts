// The notation of a file after edits: lists, breaks, headings, marks, and text that would become markup.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wrapIn } from "prosemirror-commands";
import { splitListItem, sinkListItem, wrapInList } from "prosemirror-schema-list";
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

  it("indents new blocks of an item like the blocks of the list", () => {
    const code = "    ```js\n    x\n    ```\n";
    assert.equal(edit(`1. aa\n\n${code}\n2. bb\n`, enter("aa", "new")), `1. aa\n\n2. new\n\n${code}\n3. bb\n`);
    assert.equal(edit(`1. aa bb\n\n${code}`, enter("aa", "")), `1. aa\n\n2. bb\n\n${code}`);
  });

  it("keeps equal numbers and the marker of the list", () => {
    assert.equal(edit("1. a\n1. b\n1. c\n", enter("b", "new")), "1. a\n1. b\n1. new\n1. c\n");
    assert.equal(edit("+ a\n+ b\n", enter("b", "new")), "+ a\n+ b\n+ new\n");
    assert.equal(edit("* item\n* another item\n", enter("item", "new")), "* item\n* new\n* another item\n");
    assert.equal(edit("1) a\n2) b\n", enter("a", "new")), "1) a\n2) new\n3) b\n");
  });

  it("keeps the notation of an edited item beside a removed one", () => {
    const remove: Edit = (state) => {
      const $at = state.doc.resolve(after(state, "gone"));
      return state.tr.delete($at.before(-1), $at.after(-1));
    };
    for (const [removed, kept] of [["- gone\n", "- see  &copy; [two][] and\n  __more__\n"], ["1. gone\n", "2. see  &copy; [two][] and\n   __more__\n"]] as const) {
      const links = "\n[two]: /2\n";
      const expected = kept.replace("2.", "1.").replace("more", "more new");
      assert.equal(edit(removed + kept + links, remove, type("more", " new")), expected + links);
      assert.equal(edit(kept.replace("2.", "1.") + removed.replace("1.", "2.") + links, remove, type("more", " new")), expected + links);
    }
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

  it("marks with asterisks beside letters", () => {
    assert.equal(edit("a __bc__ d\n", type("a ", "x")), "a x**bc** d\n");
    assert.equal(edit("a _bc_ d\n", type("a ", "x")), "a x*bc* d\n");
    assert.equal(edit("_one_ _two_\n", type("one", "s")), "_ones_ _two_\n");
    assert.equal(edit("| __b__ |\n|---|\n| :x: _c_ |\n", type(":x: ", "y")), "| __b__ |\n|---|\n| :x: y*c* |\n");
  });

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
    const both = [mark("strong", "one two "), breakAfter("one two")];
    assert.equal(edit("one two three\n", mark("strong", "one two ")), "**one two** three\n");
    assert.match(edit("one two three\n", ...both), /^\*\*one two\*\* {2,}\n ?three\n$/);
    assert.match(edit("one\\\ntwo\n\none two three\n", ...both), /\n\*\*one two\*\*\\\n ?three\n$/);
    assert.equal(edit("a one two b\n", mark("strong", " one two ")), "a **one two** b\n");
    assert.equal(edit("a one two b\n", mark("em", " one two ")), "a *one two* b\n");
    assert.equal(edit("a one two b\n", mark("strike", "one two ")), "a ~~one two~~ b\n");
    assert.equal(edit("- one two\n", mark("strong", "one "), breakAfter("one")), "- **one**  \n   two\n");
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

describe("typed text in a file with other constructs", () => {
  const FRONT = "---\ntitle: Page\n---\n";
  for (const [name, text, where] of [
    ["a comment in a paragraph", "Text <!-- a_b *c* --> tail\n\n<!--more-->\n\n[//]: # (a comment)\n\nnext\n", "tail"],
    ["a comment of several lines", "a <!-- one\n  two_three --> tail\n\n<!-- block\n\nwith *stars* -->\n", "tail"],
    ["comments in list items", "* a <!-- x_y --> tail\n* b <!-- *z* -->\n\n<!-- end -->\n", "tail"],
    ["a comment as a link address", "[comment]: <> (This is *not* shown)\ntail\n\n<!-- more -->\n", "tail"],
    ["a heading with a comment", "# Head <!-- omit in toc --> tail\n<!-- toc -->\n\n- x\n<!-- /toc -->\n", "tail"],
    ["abbreviations", "*[MY]: My Abbr\n[Link]({% link _post/my_post.md %}) and *[X_Y]: z\n", "My Abbr"],
    ["tags of Liquid", "{% if a %}My Abbr{% endif %} {{ page.x_y | escape }}\n\n{% include x.html a='*b*' %}\n", "My Abbr"],
    ["attributes of kramdown", "My Abbr *a*{: .note_b}\n{: #id .class_name}\n\n* TOC\n{:toc}\n", "My Abbr"],
    ["a tag of Liquid in an image", "![a]({{ site.baseurl }}/a_b_c.png){: .wide} My Abbr\n\n| {{ x }} |\n", "My Abbr"],
    ["highlighted code of Jekyll", "My Abbr\n\n{% highlight js %}\nlet a_b = *c;\n{% endhighlight %}\n", "My Abbr"],
    ["a shortcode as an address", '[Elements]({{< relref "/docs/writing_latex.md" >}}) and {{< ref "a" >}} end\n', "end"],
    ["a shortcode with a title", '[A]({{% ref "a_b.md#c" %}} "Title") *b* end\n', "end"],
    ["a shortcode in an item", '- {{< icon "a_b" >}} end\n- [x]({{< relref "y" >}})\n\n{{< tabs >}}\n', "end"],
    ["a shortcode as an image", '![]({{< static "a_b.png" >}}) end\n\n{{< figure src="x_y.png" >}}\n', "end"],
    ["an image in an item", "1. First step.\n2. Last step.\n\n   ![Screenshot](/img/s.png)\n", "Last step."],
    ["code in an item", "* Last step.\n\n  ```js\n  let a_b\n\n  c\n  ```\n* x\n", "Last step."],
    ["a quote in an item", "-   Last step.\n\n    > quote\n    > more\n\n-   x\n", "Last step."],
    ["indented code in an item", "1. Last step.\n\n       code\n         more\n\n2. x\n", "Last step."],
    ["rules and code with rules", "above\n\n---\n\n```mermaid\n---\ntitle: Graph\n---\ngraph TD\n```\n\nbelow\n", "below"],
    ["a rule above", "---\n\nabove\n\n- - -\nbelow\n", "below"],
    ["rules between items", "- a\n\n---\n\n- b\n\n***\n\nbelow\n\n---\n", "below"],
    ["front matter in a code block", "~~~md\n+++\na = 1\n+++\n~~~\nbelow\n\n+++\n", "below"],
  ] as const) {
    it(`changes one line beside ${name}`, () => {
      for (const before of [text, FRONT + text, (FRONT + text).replaceAll("\n", "\r\n")]) {
        assert.equal(edit(before, type(where, " ZZ")), before.replace(where, `${where} ZZ`));
      }
    });
  }

  for (const [name, before, expected] of [
    ["stars", "* item\n* another item\n", "* item\n* new\n* another item\n"],
    ["numbers", "1. item\n2. another item\n", "1. item\n2. new\n3. another item\n"],
    ["wide markers", "-   item\n-   another item\n", "-   item\n-   new\n-   another item\n"],
    ["a list inside", "- item\n- x\n  - y\n", "- item\n- new\n- x\n  - y\n"],
    ["tasks", "- [ ] item\n- [x] another\n", "- [ ] item\n- [ ] new\n- [x] another\n"],
    ["CRLF", "+ item\r\n+ another item\r\n", "+ item\r\n+ new\r\n+ another item\r\n"],
  ] as const) {
    it(`keeps a list with ${name} tight`, () => assert.equal(edit(before, enter("item", "new")), expected));
  }
});

describe("edits without a direct form in Markdown", () => {
  const split = (where: string): Edit => (state) => state.tr.split(after(state, where));
  const remove = (text: string): Edit => (state) => state.tr.delete(after(state, text) - text.length, after(state, text));
  const breaks = (where: string, ...names: string[]): Edit => (state) => state.tr.insert(after(state, where), names.map((name) => schema.nodes[name]!.create()));
  const wrap = (where: string): Edit => (state) => {
    let next = state.apply(state.tr.setSelection(TextSelection.create(state.doc, after(state, where))));
    wrapInList(schema.nodes.bullet_list!)(next, (tr) => (next = next.apply(tr)));
    return state.tr.replaceWith(0, state.doc.content.size, next.doc.content);
  };
  const heading = (where: string): Edit => (state) => state.tr.setBlockType(after(state, where), after(state, where), schema.nodes.heading!, { level: 3 });

  for (const [name, before, edits, expected] of [
    ["a paragraph split at a line end", "one\ntwo\n", [split("one")], "one\n\ntwo\n"],
    ["an item split at a line end", "- a <{{x}}> b\n  more\n      code\n- c\n", [split("more")], "- a <{{x}}> b\n  more\n\n  code\n- c\n"],
    ["a quote split before a line end", "> one\n> two\n", [split("one")], "> one\n>\n> two\n"],
    ["a paragraph split at its end", "> one\n", [split("one")], "> one\n"],
    ["an item split at its start", "- one\n- two\n", [(state: EditorState) => state.tr.split(after(state, "one") - 3)], "- one\n- two\n"],
    ["a break at the end", "one\n", [breaks("one", "hard_break")], "one\n"],
    ["a deleted line", "one\ntwo\nthree\n", [remove("two")], "one\nthree\n"],
    ["a deleted line in an item", "* one\n  two\n  <{{x}}>\n", [remove("two")], "* one\n  <{{x}}>\n"],
    ["a deleted line after a break", "one  \ntwo\nthree\n", [remove("two")], "one  \nthree\n"],
    ["two breaks", "one\n", [type("one", "two"), breaks("one", "hard_break", "hard_break")], "one<br /><br />two\n"],
    ["a deleted text", "one\n\ntwo\n", [remove("one"), (state: EditorState) => state.tr.insertText(" ", 1)], "two\n"],
    ["a heading of two lines", "- one\n  two\n", [heading("one")], "- ### one two\n"],
    ["a heading of a task", "- [ ] one\n- [x] two\n", [heading("one")], "- ### one\n- [x] two\n"],
    ["an empty task", "- [ ] one\n\n  > quote\n", [remove("one")], "- [ ]\n\n  > quote\n"],
    ["code that becomes an item", "    let\n     a\n", [wrap("let")], "-     let\n       a\n"],
    ["code with an empty line at its start", "    let\n    a\n", [remove("let")], "```\n\na\n```\n"],
    ["code beside a shortcode", "two {{ k }} three\n", [mark("code", "two "), mark("code", " three")], "`two` {{ k }} `three`\n"],
    ["a shortcode in code", "two {{ k }} three\n", [(state: EditorState) => state.tr.addMark(1, 8, schema.marks.code!.create())], "`two` {{ k }} `t`hree\n"],
    ["a list after a list in an item", "- one\n\n  - two\n\n  three\n", [wrap("three")], "- one\n\n  - two\n\n  * three\n"],
    ["a no-break space after a heading", "# one\n", [type("one", "\u00a0")], "# one\n"],
    ["an ideographic space after a cell", "| one |\n| --- |\n", [type("one", "\u3000")], "| one |\n| --- |\n"],
    ["slanted text that starts in a link", "[one two](/x) three\n", [mark("em", "two"), mark("em", " three")], "[one *two*](/x) *three*\n"],
    ["struck text over a link", "one [two](/x) three\n", [mark("strike", "one "), mark("strike", "two"), mark("strike", " three")], "~~one [two](/x) three~~\n"],
    ["code with spaces at its ends", "one two three\n", [mark("code", " two ")], "one `two` three\n"],
    ["code with a space at its start", "one two three\n", [mark("code", " two")], "one `two` three\n"],
    ["a link with a space at its start", "one two\n", [(state: EditorState) => state.tr.addMark(4, 8, schema.marks.link!.create({ href: "/x" })).addMark(4, 8, schema.marks.em!.create())], "one [*two*](/x)\n"],
    ["equal numbers of one item", "1. one\n1. two\n\n3. three\n", [(state: EditorState) => state.tr.delete(7, state.doc.child(0).nodeSize - 1)], "1. one\n"],
    ["a list between two lists", "- one\n\ntext\n\n* two\n", [wrap("text")], "- one\n\n+ text\n\n* two\n"],
    ["a list above a list", "text\n- one\n* two\n", [wrap("text")], "* text\n\n- one\n* two\n"],
  ] as const) {
    it(`writes ${name}`, () => {
      const text = edit(before, ...(edits as readonly Edit[]));
      assert.equal(text, expected);
      const { doc } = new MarkdownFile(text);
      assert.ok([...doc.children].every((node) => node.type.name !== "source_block"), text);
    });
  }

  for (const text of ["-     let\n       x\n", "1.      let\n\n2. b\n", "- # let\n- b\n", "* > let\n* b\n", "- ```\n  let\n  ```\n\n- b\n", "-\n- let\n"]) {
    it(`keeps the first block of the items ${JSON.stringify(text)}`, () => assert.equal(edit(text, type("let", " ZZ")), text.replace("let", "let ZZ")));
  }

  for (const typed of ["- x", "+ x", "1. x", "10) x", "# x", "> x", "---", "===", "|-|", ":::x", "~~~", "* x", "=", "-"]) {
    it(`reads ${typed} back as text at the start of a line`, () => {
      for (const [before, where] of [["one | a\ntwo\n", "one | a"], ["- one\n  two\n", "one"], ["> one  \n> two\n", "one"]] as const) {
        const file = new MarkdownFile(before);
        const position = (state: EditorState) => after(state, where) + 1;
        const text = written(file, [(state) => state.tr.insertText(typed, position(state), position(state) + 3)]);
        const { doc } = new MarkdownFile(text);
        assert.equal(doc.textContent, file.doc.textContent.replace("two", typed), text);
        assert.ok([...doc.children].every((node) => node.type.name !== "source_block"), text);
      }
    });
  }

  for (const before of ["<!-- a\n b -->\n", "{{< x >}}\n", ":::note\nText\n:::\n", "[a]: /b\n"]) {
    it(`puts ${JSON.stringify(before)} into no list and no quote`, () => {
      const state = EditorState.create({ doc: new MarkdownFile(before).doc });
      const inside = state.apply(state.tr.setSelection(TextSelection.create(state.doc, 1)));
      for (const command of [wrapInList(schema.nodes.bullet_list!), wrapInList(schema.nodes.ordered_list!), wrapIn(schema.nodes.blockquote!)]) assert.equal(command(inside), false);
    });
  }

  it("reads $$ back as text at the start of a heading with a line below", () => {
    for (const start of ["$$", ":::x ", "!!! "]) {
      const text = edit("Title\n=====\n", (state) => state.tr.insertText(start, 1));
      assert.equal(new MarkdownFile(text).doc.child(0).type.name, "heading", text);
      assert.equal(new MarkdownFile(text).doc.textContent, `${start}Title`);
    }
  });

  for (const typed of [":::x", "!!! note", "??? x", '=== "x"', "$$", "[^a b]: x", "{x", "import x", "export x"]) {
    it(`reads ${typed} back as text at the start of a block`, () => {
      for (const isMdx of [false, true]) {
        const rest = isMdx ? " two" : "{{ k }}";
        const text = written(new MarkdownFile(`one${rest}\n`, isMdx), [(state) => state.tr.insertText(typed, 1, 4)]);
        const { doc } = new MarkdownFile(text, isMdx);
        assert.equal(doc.textContent, typed + rest, text);
        assert.equal(doc.child(0).type.name, "paragraph", text);
      }
    });
  }
});

describe("a block that is edited in one place", () => {
  const LINKS = "One [`a`](/x), [`b`](/y \"T\") and [c].\n\n[c]: /z\n";
  for (const [name, before, where, expected] of [
    ["links whose text is code", "- [`a`](/x)\n- [`b`](/y) and [`c`][]\n- d\n\n[`c`]: /z\n", "and", ""],
    ["a shortcut link", "See [Ref] and [ref][], [x][ref] end.\n\n[ref]: /r\n", "end", ""],
    ["emphasis with underscores", "a _bb_ __cc__ ***d*** end\n", "end", ""],
    ["entities", "a&nbsp;b &copy; 2 \\* 3 \\_x\\_ end\n", "end", ""],
    ["an alert", "> [!WARNING]\n> a **b** end\n", "end", ""],
    ["emphasis in an alert", "> [!WARNING]\n> a **b** end\n", "b", ""],
    ["a quotation", ">a\n> - b\n>   c end\nlazy\n", "end", ""],
    ["a table without outer pipes", "a|b\n-|-\n`c`|d end\n&nbsp;|e\n", "end", ""],
    ["wide markers", "1.   a\n1.   b end\n3)   c\n", "end", ""],
    ["an indented list", "  1.  a\n\n      b end\n  2.  c\n", "end", ""],
    ["a definition list", "Term\n: one end\n  two\n", "end", ""],
    ["a continued step", "1. a\n\n    continued end\n\n2. b\n", "end", ""],
    ["an indented paragraph", "   a\n     b end\n", "end", ""],
    ["an indented fence", "  ```js\n  a end\n    b\n  ```\n", "end", ""],
    ["attribute lines", "- a end\n  {: .x}\n- b\n   {: #y}\n", "end", ""],
    ["the text of a shortcut link", "See [Ref] and [ref].\n\n[ref]: /r\n", "Re", "See [ReZZf][Ref] and [ref].\n\n[ref]: /r\n"],
    ["the text of a link by label", "See [Ref][ref] and [ref].\n\n[ref]: /r\n", "Re", "See [ReZZf][ref] and [ref].\n\n[ref]: /r\n"],
    ["code in bold text", "**The `a` of** b _c_ end\n", "a", ""],
  ] as const) {
    it(`keeps the rest beside ${name}`, () => {
      for (const [file, result] of [[before, expected], [before, expected].map((text) => text.replaceAll("\n", "\r\n"))] as [string, string][]) {
        const changed = edit(file, type(where, "ZZ"));
        assert.equal(changed, result || file.replace(where, `${where}ZZ`));
        const { doc } = new MarkdownFile(changed);
        assert.equal(doc.textContent.includes("ZZ"), true);
      }
    });
  }

  for (const [name, before, where, expected] of [
    ["an indented list", "  - a\n  - b\n    c\n", "a", "  - a\n  - new\n  - b\n    c\n"],
    ["a list with wide markers", "1.   a\n2.   b\n", "a", "1.   a\n2.   new\n3.   b\n"],
    ["a list with continued steps", "1. a\n\n    c\n\n2. b\n", "b", "1. a\n\n    c\n\n2. b\n\n3. new\n"],
    ["a quotation", "> 1) a _x_\n>    c\n> 2) b\n", "b", "> 1) a _x_\n>    c\n> 2) b\n> 3) new\n"],
    ["a list with links by label", "* [a]\n* [b][]\n\n[a]: /a\n[b]: /b\n", "a", "* [a]\n* new\n* [b][]\n\n[a]: /a\n[b]: /b\n"],
    ["a list with definitions", "- a\n  : def\n- b\n", "b", "- a\n  : def\n- b\n- new\n"],
  ] as const) {
    it(`adds an item to ${name}`, () => assert.equal(edit(before, enter(where, "new")), expected));
  }

  it("keeps what is between two edits of one block", () => {
    const text = "One _a_ &copy; [`b`][] and [c d].\n\n[`b`]: /b\n[c d]: /c\n";
    assert.equal(edit(text, type("One", "s"), type("c d", "x")), text.replace("One", "Ones").replace("[c d].", "[c d]x."));
    assert.equal(edit(text, mark("strong", "One"), type("and", " ZZ")), text.replace("One", "**One**").replace("and", "and ZZ"));
    assert.equal(edit("- a _x_\n- b &amp;\n- c\n", enter("a ", "new"), type("b ", "y")), "- a\n- _newx_\n- b y&amp;\n- c\n");
  });

  it("writes the smallest range again for new formatting", () => {
    assert.equal(edit(LINKS, mark("strong", "and")), LINKS.replace("and", "**and**"));
    assert.equal(edit("a _b_ c&nbsp;d [e]\n\n[e]: /x\n", mark("code", "a")), "`a` _b_ c&nbsp;d [e]\n\n[e]: /x\n");
    assert.equal(edit("これは「重要」 _a_ &copy;\n", mark("strong", "「重要」")), "これは<strong>「重要」</strong> _a_ &copy;\n");
  });
});

describe("typed text that would become markup", () => {
  const TEXTS = [" <name> and List<String>", " &copy; &#169; &amp;", " {{< ref >}} {{ page.title }} {% if %}", " {#id} {.class} {: x}", " {/* x */}", " [a](b) ![c](d) [^1]", " `code` **b** _i_ ~~s~~", " <!-- c --> <br> </p>", " http://a.example <mailto:a@b.c>"];
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
    assert.deepEqual(labels("<A>\n\n    indented\n\n</A>\n\n```\n<b>\n```\n"), ["source_block", "source_block", "source_block", "code_block"]);
    assert.deepEqual(labels("## Head {/*head*/}\n\n# Title {#title-1}\n\nText {/* a {b} */} end\n\n## {title}\n"), ["heading", "heading", "paragraph", "source_block"]);
    assert.deepEqual(labels("Use {x}.\n\nimport A from 'a'\n\n`a` <B/>\n"), ["source_block", "source_block", "source_block"]);
  });
});

it("shows a file in the same way after it was written without an edit", () => {
  for (const text of [NINE, TWELVE, "- a\n  - b\n", "*   a\n\n    b\n"]) assert.deepEqual(shown(new MarkdownFile(text).text(new MarkdownFile(text).doc)), shown(text));
});

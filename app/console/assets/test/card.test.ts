// Cards: which blocks are one, what their fields show, and the bytes after an edit of one value.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EditorState, NodeSelection } from "prosemirror-state";
import { isReadOnly, readableName, readCard, setField } from "../src/markdown/card.ts";
import { MarkdownFile } from "../src/markdown/file.ts";
import { editCard } from "../src/markdown/parse.ts";
import { schema } from "../src/markdown/schema.ts";

const fields = (source: string) => readCard(source)?.fields.map(({ name, value, notation }) => [name, value, notation]);

/** Return a source after an edit of one field. Fail if another byte or another value differs. */
function set(source: string, index: number, value: string): string | null {
  const edited = setField(source, index, value);
  if (edited === null) return null;
  const [before, after] = [readCard(source)!, readCard(edited)!];
  const { start, end } = before.fields[index]!;
  assert.equal(edited.slice(0, start), source.slice(0, start), edited);
  assert.ok(edited.endsWith(source.slice(end)) || !value || !before.fields[index]!.value, edited);
  assert.deepEqual(after.fields.map((field, i) => (i === index ? value : field.value)), before.fields.map((field, i) => (i === index ? after.fields[i]!.value : field.value)));
  assert.equal(after.fields[index]!.value, value);
  return edited;
}

describe("readCard", () => {
  for (const [source, name, expected] of [
    ['{{< figure src="a.png" caption=`d "e"` width=300 >}}', "figure", [["src", "a.png", "double"], ["caption", 'd "e"', "backtick"], ["width", "300", "bare"]]],
    ['{{% ns/tip "say \\"hi\\"" %}}', "ns/tip", [["", 'say "hi"', "double"]]],
    ["{{< code file=content/a.md >}}", "code", [["file", "content/a.md", "bare"]]],
    ["{{< youtube w7Ft2ymGmfc >}}", "youtube", [["", "w7Ft2ymGmfc", "bare"]]],
    ['{{<figure\n  src="C:\\x"\n/>}}', "figure", [["src", "C:\\x", "double"]]],
    ['{{< x a="\\d \\"q\\"" >}}', "x", [["a", '"\\d \\"q\\""', "code"]]],
    ["{{< note >}}text{{< /note >}}", "note", [["", "text", "inner"]]],
    ["{{< note >}}\r\none\r\ntwo\r\n{{< /note >}}", "note", [["", "one\ntwo", "inner"]]],
    ["{{% /note %}}", "note", []],
    ["{% include figure.html src=\"x\" caption='it \"is\"' wide=true size=page.size %}", "figure", [["src", "x", "double"], ["caption", 'it "is"', "single"], ["wide", "true", "bare"], ["size", "page.size", "code"]]],
    ['{%- render "blocks/card", title: "T", count: 2 -%}', "card", [["title", "T", "double"], ["count", "2", "bare"]]],
    ['{% name a="b\\n" %}', "name", [["a", '"b\\n"', "code"]]],
    ["{% note %}text{% endnote %}", "note", [["", "text", "inner"]]],
    ["{% endnote %}", "note", []],
    ["<Figure src=\"x\" caption='y' wide count={3} />", "Figure", [["src", "x", "double"], ["caption", "y", "single"], ["wide", "wide", "flag"], ["count", "{3}", "code"]]],
    ['<ReadMore title="x">text</ReadMore>', "ReadMore", [["title", "x", "double"], ["", "text", "inner"]]],
    ["<Tabs.Item\n  label=\"Tom &amp; &quot;J&quot; &#233;\"\n>", "Tabs.Item", [["label", 'Tom & "J" é', "double"]]],
    ["<my-box width=30 :items='[1]' {...props}>\n  text\n</my-box >", "my-box", [["width", "30", "bare"], [":items", "'[1]'", "code"], ["", "{...props}", "code"], ["", "  text", "inner"]]],
    ["<Box.B style={{ a: `x ${[\"}\"]} {`, b: '\\'}' }} title=\"t\" />", "Box.B", [["style", "{{ a: `x ${[\"}\"]} {`, b: '\\'}' }}", "code"], ["title", "t", "double"]]],
    ["</Tabs>", "Tabs", []],
  ] as const) {
    it(`reads ${JSON.stringify(source)}`, () => {
      assert.equal(readCard(source)?.name, name);
      assert.deepEqual(fields(source), expected);
    });
  }

  for (const source of [
    "{{ page.title }}", "{{< x >}} and {{< y >}}", "{{< x 'a' >}}", "{{< x a=b/>}}", '{{< x a="b\nc" >}}', "{{< x.inline >}}a{{< /x.inline >}}", "{{</* x */>}}", "{{< x >}}a {{< y >}}{{< /x >}}", "{{< x >}}a{{% /x %}}",
    "{% if a %}", "{% endfor %}", "{% assign a = 'b' %}", "{% raw %}{{ x }}{% endraw %}", "{% x a | upcase %}", '{% x a="50%}" %}', "{% include {{ page.file }} %}", "{% a %}{% b %}",
    "<!-- note -->", "<div class=\"x\">", "<IMG SRC=\"a.png\">", "<A HREF=\"a.html\">", "<https://a.example/>", "<User@a-b.example>", "<Box>b</C>", "<Box>b <b>c</b></Box>", "<Box>{b}</Box>", "<Box b={c", "<Box b={d/e} />", "<Box b=c/>", "<Box b=\"c\"d=\"e\" />", "<Box /> text", "<Box />\n\n<Box />",
    `<Box b="${"x".repeat(20_000)}" />`, "", "text",
  ]) {
    it(`leaves ${JSON.stringify(source.slice(0, 60))} as it is`, () => assert.equal(readCard(source), null));
  }
});

describe("setField", () => {
  for (const [source, index, value, expected] of [
    ['{{< figure src="a" caption="b" >}}', 1, 'say "x"', '{{< figure src="a" caption="say \\"x\\"" >}}'],
    ['{{< figure caption="b" >}}', 0, '"\\"', "{{< figure caption=`\"\\\"` >}}"],
    ["{{< figure caption=`b` >}}", 0, "a`b", '{{< figure caption="a`b" >}}'],
    ["{{< figure caption=`b` >}}", 0, '`\\"', null],
    ['{{< figure caption="b" >}}', 0, "one\ntwo", "{{< figure caption=`one\ntwo` >}}"],
    ["{{< figure width=300 >}}", 0, "50%", '{{< figure width="50%" >}}'],
    ["{{< figure width=300 >}}", 0, "301", "{{< figure width=301 >}}"],
    ['{{< figure src="a" >}}', 0, "a >}} b", '{{< figure src="a >}} b" >}}'],
    ["{{< note >}}\r\none\r\n{{< /note >}}", 0, "one\ntwo", "{{< note >}}\r\none\r\ntwo\r\n{{< /note >}}"],
    ["{{< note >}}\none\n{{< /note >}}", 0, "", "{{< note >}}\n{{< /note >}}"],
    ["{{< note >}}\n{{< /note >}}", 0, "x", "{{< note >}}\nx\n{{< /note >}}"],
    ["{{< note >}}one{{< /note >}}", 0, "a {{< b >}}", null],
    ["{{< note >}}one{{< /note >}}", 0, "a\n\nb", null],
    ['{% include a.html b="c" %}', 0, 'd "e"', "{% include a.html b='d \"e\"' %}"],
    ['{% include a.html b="c" %}', 0, `"'`, null],
    ['{% include a.html b="c" %}', 0, "50%}", null],
    ['{% include a.html b="c" %}', 0, "a\\b", null],
    ["{% include a.html b=3 %}", 0, "4", "{% include a.html b=4 %}"],
    ["{% include a.html b=3 %}", 0, "four", '{% include a.html b="four" %}'],
    ["{% include a.html b=page.c %}", 0, "d", null],
    ['<Box b="c" />', 0, 'say "x" & &copy; /> {y}', '<Box b="say &quot;x&quot; & &amp;copy; /> {y}" />'],
    ["<Box b='c' />", 0, "it's", "<Box b='it&#39;s' />"],
    ['<Box b="/?x=1&y=2" />', 0, "/?x=1&y=3", '<Box b="/?x=1&y=3" />'],
    ["<my-a b=1 />", 0, "a b", '<my-a b="a b" />'],
    ["<Box b={1} c />", 0, "2", null],
    ["<Box b={1} c />", 1, "2", null],
    ["<Box>text</Box>", 0, "Zwei 「三」", "<Box>Zwei 「三」</Box>"],
    ["<Box>text</Box>", 0, "<b>", null],
    ["<Box>text</Box>", 0, "{x}", null],
  ] as const) {
    it(`writes ${JSON.stringify(value)} into ${JSON.stringify(source)}`, () => assert.equal(set(source, index, value), expected));
  }

  it("changes one value in generated sources, or none", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const PARTS = ['"', "'", "`", "\\", '\\"', ">}}", "%}}", "%}", "/>", "</Box>", "{", "}", "{{<", "&", "&amp;", "&copy", "<", "=", " ", "\n", "\r\n", "重要", "ab", "7", "true", "-", "."];
    const text = () => Array.from({ length: random(6) }, () => PARTS[random(PARTS.length)]).join("");
    const letters = () => ["a", "重要", "x y", "1.5", "b-c"][random(5)]!;
    const list = (values: (() => string)[]) => Array.from({ length: 1 + random(3) }, (_, index) => ` n${index}=${values[random(values.length)]!()}`).join("");
    const double = () => `"${letters()}"`;
    const single = () => `'${letters()}'`;
    const sources = [
      () => `{{< x${list([double, () => `\`${letters()}\``, () => "30", () => '"a\\"b"'])} >}}`,
      () => `{{% x${list([double])} %}}${["", "\n", "\r\n"][random(3)]}${letters()}\n{{% /x %}}`,
      () => `{% include f.html${list([double, single, () => "30", () => "page.x"])} %}`,
      () => `{% x${list([single])}, n: ${double()} %}`,
      () => `<Foo${list([double, single, () => "{`${x}`}", () => '"&quot;"'])} wide />`,
      () => `<foo-bar${list([double, single, () => "30"])}>${letters()}</foo-bar>`,
    ];
    const count = { edited: 0, refused: 0 };
    for (let i = 0; i < 6000; i++) {
      const source = sources[i % sources.length]!();
      const card = readCard(source);
      assert.ok(card, source);
      for (const [index, field] of card.fields.entries()) {
        const edited = set(source, index, text());
        if (isReadOnly(field)) assert.equal(edited, null);
        count[edited === null ? "refused" : "edited"]++;
      }
    }
    assert.ok(count.edited > 3000 && count.refused > 1000, JSON.stringify(count));
  });

  it("reads long and unfinished sources", () => {
    for (const part of ['a="', "a=b ", "{", '"', "`${", "\\", " ", "<Box ", "{{<", "&quot;", "-", "a", "/", "\n "]) {
      for (const start of ["{{< x ", "{% x ", "<Box ", "<Box b={", "<Box>", '<Box b="', "{{< x `"]) {
        const source = start + part.repeat(Math.floor(19_000 / part.length));
        assert.equal(readCard(source) !== null, start === "<Box>" && !part.trim(), source.slice(0, 20));
      }
    }
  });
});

describe("names", () => {
  for (const [name, expected] of [
    ["figure", "Figure"], ["ReadMore", "Read more"], ["read-more", "Read more"], ["readMore", "Read more"], ["Tabs.Item", "Tabs item"], ["FAQList", "FAQ list"], ["blocks/card_big", "Blocks card big"], ["要約", "要約"],
  ] as const) {
    it(`shows ${name} as words`, () => assert.equal(readableName(name), expected));
  }
});

describe("cards of a file", () => {
  const FILE = 'Before\n\n\n{{< figure src="a" >}}\n\n# Title\n{% include f.html b="c" %}\n## Next\n\n<Note title="x">text</Note>\n\n\nAfter\n';
  const types = (text: string, isMdx = false): string[] => [...new MarkdownFile(text, isMdx).doc.children].map((node) => node.attrs.label ?? node.type.name);

  /** Return the file after an edit of the first field of each card that has a form for the value. */
  function edit(text: string, value: string, isMdx = false): string {
    const file = new MarkdownFile(text, isMdx);
    const { tr } = EditorState.create({ doc: file.doc });
    file.doc.forEach((node, position) => {
      const edited = node.type === schema.nodes.card && editCard(node.attrs.source, 0, value, isMdx, file.lineEnd);
      if (edited) tr.setNodeAttribute(position, "source", edited);
    });
    return file.text(tr.doc);
  }

  for (const [name, lineEnd] of Object.entries({ LF: "\n", CRLF: "\r\n" })) {
    it(`keep the text around them (${name})`, () => {
      const text = FILE.replaceAll("\n", lineEnd);
      assert.deepEqual(types(text), ["paragraph", "card", "heading", "card", "heading", "card", "paragraph"]);
      const file = new MarkdownFile(text);
      assert.equal(file.text(file.doc), text);
      assert.equal(edit(text, "ZZ"), text.replace('"a"', '"ZZ"').replace('"c"', '"ZZ"').replace('"x"', '"ZZ"'));
      assert.equal(edit(text.replace("text", `one${lineEnd}two`).replace(' title="x"', ""), "1\n2"), text.replace("text", `1${lineEnd}2`).replace(' title="x"', "").replace('{{< figure src="a" >}}', `{{< figure src=\`1${lineEnd}2\` >}}`));
    });
  }

  it("are tags of several lines, also if a line starts like another block", () => {
    for (const tag of ['{{< figure\n  src="a"\n>}}', '{{% x\n  b="c"\n%}}', '{% include f.html\n  b="c"\n%}', '{{< x\n\tb="c"\n/>}}']) {
      const text = `Before\n${tag}\n\n* item\n\n  ${tag.replaceAll("\n", "\n  ")}\n\nAfter\n`;
      assert.deepEqual(types(text), ["paragraph", "card", "bullet_list", "paragraph"]);
      const file = new MarkdownFile(text);
      const at = file.doc.content.size - 2;
      assert.equal(file.text(EditorState.create({ doc: file.doc }).tr.insertText("Zz", at).doc), text.replace("After", "AfteZzr"));
      assert.equal(new MarkdownFile(text).doc.child(2).firstChild!.childCount, 2);
    }
    assert.deepEqual(types("{{< a\n\ntext {{ b }}\n"), ["paragraph", "paragraph"]);
  });

  it("are read in MDX and Markdown", () => {
    const text = "<Figure\n  src=\"x\"\n/>\n\n<ReadMore title='x'>text</ReadMore>\n\n<Tabs>\n\ntext\n\n</Tabs>\n\n<div>\n</div>\n\n<!-- x -->\n";
    assert.deepEqual(types(text, true), ["card", "card", "card", "paragraph", "card", "HTML", "HTML"]);
    assert.deepEqual(types(text), ["card", "card", "card", "paragraph", "card", "HTML", "HTML"]);
    assert.deepEqual(types("text <Box b=\"c\" />\n\n- <Box />\n\n`<Box />`\n\n    <Box />\n\n```\n{{< a >}}\n```\n"), ["paragraph", "HTML", "paragraph", "code_block", "code_block"]);
  });

  for (const value of ["# x", "- x", "---", "```", "a\n\nb", "a\n    b\n"]) {
    it(`stay one block with the text ${JSON.stringify(value)}, or refuse it`, () => {
      for (const source of ["{{< note >}}\none\n{{< /note >}}", "<Note>\none\n</Note>", "{{< note >}}one{{< /note >}}"]) {
        const edited = editCard(source, 0, value, false, "\n");
        if (edited !== null) assert.deepEqual(types(edited), ["card"]);
        if (edited !== null) assert.equal(readCard(edited)!.fields[0]!.value, value);
      }
      assert.equal(editCard("{{< note >}}\none\n{{< /note >}}", 0, "# x", false, "\n"), null);
    });
  }

  it("are moved, copied, deleted and shown as source with the bytes of the others", () => {
    const text = FILE.replaceAll("\n", "\r\n").replace('src="a" >}}', 'src="a"\nb="c" >}}');
    const file = new MarkdownFile(text);
    const state = EditorState.create({ doc: file.doc });
    const at = file.doc.child(0).nodeSize;
    const node = file.doc.child(1);
    const asSource = state.tr.replaceWith(at, at + 1, schema.nodes.source_block!.create({ key: node.attrs.key }, schema.text(node.attrs.source.replace(/\r\n?/g, "\n"))));
    assert.equal(file.text(asSource.doc), text);
    const deleted = state.apply(state.tr.setSelection(NodeSelection.create(state.doc, at))).tr.deleteSelection();
    assert.equal(file.text(deleted.doc), text.replace('\r\n\r\n\r\n{{< figure src="a"\nb="c" >}}', ""));
    const copy = schema.nodes.card!.create({ source: "<Box>\n</Box>" });
    assert.equal(file.text(state.tr.insert(0, copy).doc), `<Box>\r\n</Box>\r\n\r\n${text}`);
  });
});

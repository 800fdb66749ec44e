import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "prosemirror-state";
import { matching } from "../src/choices.ts";
import { MarkdownFile } from "../src/markdown/file.ts";
import { linkAround, linkSource, templateTargetEnd } from "../src/markdown/links.ts";
import { schema } from "../src/markdown/schema.ts";

const TARGETS = ['{{< ref "/posts/fog.md" >}}', '{{% relref "a_b" %}}#part', "{% link _posts/2026-05-27-fog.md %}", "{{ site.baseurl }}/about", "../a(b).md", "/x"];

test("a link with a template tag as its target is a link of the formatted editor and keeps its source", () => {
  for (const href of TARGETS.slice(0, 4)) {
    const source = `See [the page](${href} "Title") now.\n`;
    const file = new MarkdownFile(source);
    const [, link] = file.doc.firstChild!.children;
    assert.deepEqual(link!.marks.map(({ attrs }) => ({ ...attrs })), [{ href, title: "Title", label: null }]);
    const state = EditorState.create({ doc: file.doc });
    assert.equal(file.text(state.apply(state.tr.insertText("You see", 1, 4)).doc), source.replace("See", "You see"));
    const changed = state.tr.removeMark(5, 13, schema.marks.link!).addMark(5, 13, schema.marks.link!.create({ href: TARGETS[0] }));
    assert.equal(file.text(state.apply(changed).doc), `See [the page](${TARGETS[0]}) now.\n`);
  }
});

test("the link of a line around a range has its text, target and title", () => {
  for (const href of TARGETS) {
    const line = `![image](a.png) [x] [one \\[two\\]](${href} "A \\"title\\"") and [b](c)`;
    const at = line.indexOf("one");
    const link = linkAround(line, at, at + 3)!;
    assert.deepEqual([link.text, link.href, link.title], ["one [two]", href, 'A "title"']);
    const again = linkAround(linkSource(link), 1, 1)!;
    assert.deepEqual([again.text, again.href, again.title], [link.text, link.href, link.title]);
    assert.equal(line.slice(link.to), " and [b](c)");
    assert.equal(linkAround(line, line.indexOf("image"), line.indexOf("image")), null);
    assert.equal(linkAround(line, line.length, line.length)!.href, "c");
    assert.equal(linkAround(line, at, line.length), null);
  }
});

test("a target with spaces is written between angle brackets, and a label with brackets is escaped", () => {
  assert.equal(linkSource({ text: "a [b]", href: "c d.md", title: "" }), "[a \\[b\\]](<c d.md>)");
});

test("a target without an end of its tag is no template", () => {
  for (const source of ["{{< ref", '{% link a\n %}', "a{{ b }}", "{ b }"]) assert.equal(templateTargetEnd(source, 0, source.length), -1);
  const bait = "[a]({{".repeat(20_000);
  assert.equal(new MarkdownFile(bait).text(new MarkdownFile(bait).doc), bait);
});

test("entries match by words of their title and value, those that start with the text first", () => {
  const titles: [string, string][] = [["b-fog", "Old fog"], ["fog", "Fog signals"], ["x", "Tides"]];
  assert.deepEqual(matching(titles, "FOG").map(({ value }) => value), ["fog", "b-fog"]);
  assert.deepEqual(matching(titles, "signals fog").map(({ title, detail }) => [title, detail]), [["Fog signals", "fog"]]);
});

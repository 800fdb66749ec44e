"""The formatted editor in Chromium: typed and pasted text, and other people who change the page while it is open."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.serving.test_console_screens import Console, history, repository, running_console

pytestmark = pytest.mark.server

FOLDER = "content/typing"
TEXT = "---\ntitle: Typing\n---\nFirst words.\n\nSecond words.\n"
SIZE: ViewportSize = {"width": 1280, "height": 900}
PASTE = """([html, text]) => {
  const data = new DataTransfer();
  if (html) data.setData("text/html", html);
  data.setData("text/plain", text);
  document.querySelector(".ProseMirror").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""
COPY = """() => {
  const editor = document.querySelector(".ProseMirror");
  editor.focus();
  document.getSelection().selectAllChildren(editor);
  document.dispatchEvent(new Event("selectionchange"));
  const data = new DataTransfer();
  return new Promise((done) => setTimeout(() => {
    editor.dispatchEvent(new ClipboardEvent("copy", {clipboardData: data, bubbles: true, cancelable: true}));
    done(data.getData("text/html"));
  }, 50));
}"""
SELECT = """(word) => {
  const walker = document.createTreeWalker(document.querySelector(".ProseMirror"), NodeFilter.SHOW_TEXT);
  const links = [];
  while (walker.nextNode()) if (walker.currentNode.parentElement.closest("a")) links.push(walker.currentNode);
  const node = links.find(({ data }) => data.split(" ").includes(word));
  document.querySelector(".ProseMirror").focus();
  getSelection().setBaseAndExtent(node, node.data.indexOf(word), node, node.data.indexOf(word) + word.length);
}"""
"""Selects a word of a link."""

MOVE_AND_PRESS = """(key) => {
  const editor = document.querySelector(".ProseMirror");
  document.getSelection().collapse(editor.lastElementChild, 0);
  editor.dispatchEvent(new KeyboardEvent("keydown", {key, keyCode: {Enter: 13, Backspace: 8}[key], bubbles: true, cancelable: true}));
}"""
GOOGLE = (
    '<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-0"><p dir="ltr"><span style="font-weight:400">Plain </span>'
    '<span style="font-weight:700">strong</span><span style="font-weight:400;font-style:italic"> slanted</span></p>'
    '<p dir="ltr"><span style="font-weight:400">Second</span></p></b>'
)
WORD = (
    "<html><body><!--StartFragment-->"
    + "".join(
        f'<p class=MsoListParagraph style="mso-list:l0 level{level} lfo1"><![if !supportLists]><span style="mso-list:Ignore">{marker}'
        f'<span style="font:7pt">&nbsp;&nbsp; </span></span><![endif]><b>{text}</b></p>'
        for level, marker, text in ((1, "·", "One"), (2, "o", "Inner"), (1, "·", "Two"))
    )
    + "<!--EndFragment--></body></html>"
)
NESTED = "<ul><li><p>One</p></li><ul><li><p>Inner</p></li></ul><li><p>Two</p></li></ul>"
WEB = (
    '<h2 style="font-weight:700">Head<a class="anchor" href="#head">#</a></h2><p>so\u00adft\u200b <strike>old</strike> '
    '<span style="text-decoration: line-through">gone</span><span style="display:none">secret</span>'
    '<img src="https://a.example/p.gif" width="1" height="1"> <a href="https://b.example/">link</a></p>'
)
TABLE = "<table><tr><th>H1</th><th>H2</th></tr><tr><td>a</td><td>b</td></tr></table>"
STYLED_TABLE = (
    '<table><tr><td style="text-align:right">Sum <b>x</b></td><td colspan="2">a|b</td></tr>'
    "<tr><td><p>one</p><p>two</p></td><td><ul><li>c</li><li>d</li></ul></td><td><table><tr><td>in</td></tr></table></td></tr></table>"
)
LIBREOFFICE = (
    '<html><head><meta name="generator" content="LibreOffice"/><style type="text/css">p { margin-bottom: 0.1in }</style></head><body lang="en-US" dir="ltr">'
    '<h2 class="western">Head</h2><p style="line-height: 100%"><font color="#000000">Plain <b>strong</b> <i>slanted</i> <strike>old</strike></font></p>'
    "<ul><li><p>One</p></li><ul><li><p>Inner</p></li></ul><li><p>Two</p></li></ul></body></html>"
)
SHEET = (
    '<google-sheets-html-origin><style type="text/css">td {border: 1px solid #cccccc;}</style><table xmlns="http://www.w3.org/1999/xhtml" cellspacing="0" '
    'dir="ltr" border="1" data-sheets-root="1"><colgroup><col width="100"/><col width="100"/></colgroup><tbody><tr style="height:21px;">'
    '<td style="overflow:hidden;font-weight:bold;" data-sheets-value="{}">Item</td><td style="text-align:right;">Price</td></tr>'
    '<tr><td>Tea</td><td style="text-align:right;">2.5</td></tr><tr><td></td><td>3</td></tr></tbody></table>'
)
EXCEL = (
    '<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><style><!--td {mso-style-parent:style0;}--></style></head><body link=blue>'
    "<table border=0 cellpadding=0><!--StartFragment--><col width=64><tr height=20><td height=20 class=xl65>A&nbsp;1</td><td>B</td></tr>"
    "<tr><td>1</td><td>2</td></tr><!--EndFragment--></table></body></html>"
)
WORD_EMPTY = (
    "<html><body><!--StartFragment--><p class=MsoNormal><i style='mso-bidi-font-style:normal'>Low</i> <b style='mso-bidi-font-weight:normal'>tide</b>"
    "<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p><p class=MsoNormal><i style='font-style: normal'>upright</i> "
    "<b style='font-weight:normal'>thin</b></p><p class=MsoNormal><span lang=EN-GB><o:p>&nbsp;</o:p></span></p><p class=MsoNormal>End</p><!--EndFragment--></body></html>"
)
GITLAB = (
    '<p data-sourcepos="1:1-1:30" dir="auto" data-pm-slice="1 1 []">Low <strong data-sourcepos="1:5-1:13">water</strong> at <a href="https://b.example/"'
    ' class="gfm" data-reference-type="issue">noon</a><span style="display: none">secret</span><img src="https://a.example/p.gif" width="1" height="1"></p>'
    '<ul data-sourcepos="3:1-4:8" dir="auto"><li data-sourcepos="3:1-3:5"><p>One</p></li><li data-sourcepos="4:1-4:5"><p>Two <em>b</em></p></li></ul>'
    '<div class="gl-relative"><pre class="code highlight" lang="ruby"><code><span class="line">puts 1</span></code></pre></div>'
)
CONFLUENCE = (
    "<meta charset='utf-8'><h3 data-pm-slice='1 3 [&quot;table&quot;,{&quot;layout&quot;:&quot;default&quot;}]' data-renderer-start-pos='1'>Tides</h3>"
    "<div data-panel-type='info'><div><p data-renderer-start-pos='9'>Note <strong data-renderer-mark='true'>this</strong></p></div></div>"
    "<table data-number-column='false' data-layout='default'><tbody><tr><th class='pm-table-header-content-wrap'><p>Day</p></th><th><p>High</p></th></tr>"
    "<tr><td><p>Mon</p></td><td><p>4 <em>m</em></p><p>5 m</p></td></tr></tbody></table><p hidden>secret</p><p><br></p>"
)
TIPTAP = (
    "<p data-pm-slice='2 2 [&quot;doc&quot;,null]'>Plain <span data-type='mention' data-id='u1'>@Olive</span> <code>x</code></p>"
    "<ul data-type='taskList'><li data-checked='true'><label contenteditable='false'></label><div><p>Task</p></div></li></ul>"
)
TASKS = (
    "<ul class='task-list'><li><input type='checkbox' checked disabled> done</li><li><input type='checkbox' disabled> open</li></ul>"
    "<p>Mind<span style='position:absolute;clip:rect(1px,1px,1px,1px)'>secret</span></p>"
    "<div><div data-task-local-id='1' data-task-state='DONE'>Book</div><div data-task-local-id='2' data-task-state='TODO'>Order</div></div>"
    "<ol start='3'><li>three</li><ol><ol><li>deep</li></ol></ol></ol>"
    "<div><pre><code class='language-js'>a<br>b\n</code></pre><button>Copy</button></div>"
)
SPANS = (
    "<table><tr><th style='font-weight:600'>A</th><th align='right'>B</th><th>C</th></tr>"
    "<tr><td rowspan='2'>a</td><td>b</td><td><ul><li><p>c</p></li><li>d<ul><li>e</li></ul></li></ul></td></tr><tr><td>f</td><td>g</td></tr></table>"
)
WORD_NUMBERS = "".join(
    f"<{tag} style='mso-list:l{number} level1 lfo1'><span style='mso-list:Ignore'>{marker}&nbsp;</span>{text}</{tag}>"
    for tag, number, marker, text in (
        *(("h2", 0, "1.", "Head"), ("p", 1, "3.", "Three"), ("p", 1, "4.", "Four")),
        *(("p", 2, "1.", "One"), ("p", 3, "·", "Bullet")),
    )
)
PASTED = [
    (TASKS, "- [x] done\n- [ ] open\n\nMind\n\n- [x] Book\n- [ ] Order\n\n3. three\n   1. deep\n\n```js\na\nb\n```"),
    (SPANS, "| A | B | C |\n| --- | ---: | --- |\n| a | b | c<br />d<br />e |\n|  | f | g |"),
    (WORD_NUMBERS, "## Head\n\n3. Three\n4. Four\n\n1) One\n\n- Bullet"),
    (WORD_EMPTY, "*Low* **tide**\n\nupright thin\n\nEnd"),
    (GITLAB, "Low **water** at [noon](https://b.example/)\n\n- One\n- Two *b*\n\n```ruby\nputs 1\n```"),
    (CONFLUENCE, "### Tides\n\nNote **this**\n\n| Day | High |\n| --- | --- |\n| Mon | 4 *m*<br />5 m |"),
    (TIPTAP, "Plain @Olive `x`\n\n- [x] Task"),
    (GOOGLE, "Plain **strong** *slanted*\n\nSecond"),
    (WORD, "- **One**\n  - **Inner**\n- **Two**"),
    (NESTED, "- One\n  - Inner\n- Two"),
    (WEB, "## Head\n\nsoft ~~old~~ ~~gone~~ [link](https://b.example/)"),
    (TABLE, "| H1 | H2 |\n| --- | --- |\n| a | b |"),
    (
        STYLED_TABLE,
        "| Sum **x** | a\\|b |  |\n| ---: | --- | --- |\n| one<br />two | c<br />d | in |",
    ),
    (LIBREOFFICE, "## Head\n\nPlain **strong** *slanted* ~~old~~\n\n- One\n  - Inner\n- Two"),
    (SHEET, "| **Item** | Price |\n| --- | ---: |\n| Tea | 2.5 |\n|  | 3 |"),
    (EXCEL, "| A\u00a01 | B |\n| --- | --- |\n| 1 | 2 |"),
]

CARDS = {
    "md": [
        (
            "Figure",
            "Caption",
            ' "horn"',
            '{{< figure src="/fog.png" caption="Fog" width=300 >}}',
            '"Fog"',
            '"Fog \\"horn\\""',
        ),
        (
            "Gallery",
            "Title",
            "'s end",
            "{% include gallery.html title='Fog' size=page.size %}",
            "'Fog'",
            '"Fog\'s end"',
        ),
    ],
    "mdx": [
        (
            "Figure",
            "Caption",
            ' & "horn"',
            '<Figure src="/fog.png" caption="Fog" wide count={3} />',
            '"Fog"',
            '"Fog & &quot;horn&quot;"',
        ),
        ("Read more", "Text", " **now**", '<ReadMore title="Fog">Read it.</ReadMore>', "it.", "it. **now**"),
    ],
}
"""Components by the extension of the file: name, field, the text that is typed at its end, source, and what replaces what."""


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("typing")) as console:
        console.resize(SIZE, "light")
        yield console


@pytest.fixture(scope="module")
def project(console: Console) -> str:
    return console.sign_in()


def open_page(console: Console, project: str, name: str, text: str = TEXT, extension: str = "md") -> str:
    """Commit a page, open it in the editor and return its path."""
    path = f"{FOLDER}/{name}.{extension}"
    repository(console.service).commit({path: text.encode()}, f"Add {name}")
    console.open(f"{project}/edit/{path}", ".ProseMirror")
    return path


def type_after(console: Console, paragraph: int, text: str) -> None:
    console.page.locator(".ProseMirror > p").nth(paragraph).click()
    console.page.keyboard.press("End")
    console.page.keyboard.type(text)


def save(console: Console) -> None:
    console.page.get_by_role("button", name="Save", exact=True).click()


def saved_text(console: Console, path: str) -> str:
    """Wait until the save is confirmed and return the file of the branch."""
    expect(console.page.locator(".toast")).to_contain_text("Saved")
    return repository(console.service).show(path).decode()


@pytest.mark.parametrize(
    ("html", "expected"),
    PASTED,
    ids=[
        "tasks",
        "spans",
        "word-numbers",
        "word-empty",
        "gitlab",
        "confluence",
        "tiptap",
        "google",
        "word",
        "nested",
        "web",
        "table",
        "styled-table",
        "libreoffice",
        "sheet",
        "excel",
    ],
)
def test_pasted_html_is_markdown(console: Console, project: str, html: str, expected: str) -> None:
    path = open_page(console, project, f"pasted-{len(html)}", "---\ntitle: Paste\n---\n")
    console.page.locator(".ProseMirror").click()
    console.page.evaluate(PASTE, [html, "plain"])
    save(console)
    assert saved_text(console, path).partition("---\n")[2].partition("---\n")[2].strip() == expected


def test_text_typed_behind_a_link_with_code_is_text(console: Console, project: str) -> None:
    path = open_page(
        console, project, "behind", TEXT.replace("First words.", "See [`a`](/x)").replace("Second words.", "A `b`")
    )
    type_after(console, 0, " and more")
    type_after(console, 1, "c")
    save(console)
    assert saved_text(console, path).endswith("See [`a`](/x) and more\n\nA `bc`\n")


def test_text_that_replaces_the_end_of_a_link_belongs_to_the_link(console: Console, project: str) -> None:
    links = "See [low tide][tides] and [`a b`](/x), at [the pier](/pier) now.\n\n[tides]: /tides\n"
    path = open_page(console, project, "replaced", TEXT + links)
    page = console.page
    for selected, typed in (("tide", "tideway"), ("b", "code"), ("pier", "quay")):
        page.evaluate(SELECT, selected)
        page.keyboard.type(typed)
        page.keyboard.press("Backspace")
        page.keyboard.type(typed[-1])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type(" today")
    save(console)
    assert saved_text(console, path) == TEXT + links.replace("[low tide]", "[low tideway]").replace(
        "[`a b`](/x)", "[`a code`](/x)"
    ).replace("[the pier](/pier)", "[the quay](/pier) today")


@pytest.mark.parametrize(("key", "joint"), [("Enter", "\n\n"), ("Backspace", "")])
def test_key_after_a_move_is_applied_at_the_new_place(console: Console, project: str, key: str, joint: str) -> None:
    """A busy browser reports a moved cursor later than the next key. The script moves and presses without a pause."""
    path = open_page(console, project, f"moved-{key}")
    type_after(console, 0, " More")
    console.page.evaluate(MOVE_AND_PRESS, key)
    console.page.keyboard.type("New")
    save(console)
    assert saved_text(console, path).endswith(f"---\nFirst words. More{joint}NewSecond words.\n")


def test_image_that_cannot_be_shown_is_a_box_with_its_name(console: Console, project: str) -> None:
    text = TEXT + "\n![chart](https://other.example/a.png)\n\n![](img/missing.png)\n"
    path = open_page(console, project, "boxes", text)
    expect(console.page.locator(".ProseMirror .image-box")).to_have_text(["chart", "missing.png"])
    type_after(console, 0, " More.")
    save(console)
    assert saved_text(console, path) == text.replace("First words.", "First words. More.")


def test_copied_blocks_of_the_editor_keep_their_notation(console: Console, project: str) -> None:
    """The editor recognizes what it has copied itself: blocks that HTML of others does not have, such as tasks and shortcodes."""
    text = '---\ntitle: Copy\n---\nStart\n\n- [x] done `a`\n- [ ] open\n\n4. four\n\n```js {1}\na\n```\n\nText {{< ref "a_b" >}} end.\n'
    path = open_page(console, project, "copied", text)
    copied = console.page.evaluate(COPY)
    assert "data-galley-slice" in copied
    console.page.keyboard.press("Control+End")
    console.page.keyboard.press("Enter")
    console.page.evaluate(PASTE, [copied, "plain"])
    save(console)
    body = text.partition("---\n")[2].partition("---\n")[2]
    assert saved_text(console, path).endswith(f"{body}\n{body}")


def test_pasted_text_is_markdown_and_keeps_its_spaces(console: Console, project: str) -> None:
    path = open_page(console, project, "text")
    type_after(console, 0, " ")
    console.page.evaluate(PASTE, ["<b>bold</b> ", "bold "])
    console.page.keyboard.type("then ")
    console.page.evaluate(PASTE, ["", "`code` and **strong** "])
    console.page.keyboard.type("end")
    save(console)
    assert "First words. **bold** then `code` and **strong** end\n\nSecond" in saved_text(console, path)


@pytest.mark.parametrize("name", ["opened", "pasted"])
def test_text_below_an_image_with_an_invalid_address_is_saved(console: Console, project: str, name: str) -> None:
    image = "![chart](50%.png)"
    path = open_page(console, project, name, TEXT + (f"\n{image}\n\nAfter\n" if name == "opened" else "\nAfter\n"))
    if name == "pasted":
        type_after(console, 1, " ")
        console.page.evaluate(PASTE, ['<img src="50%.png" alt="chart">', ""])
    console.page.locator(".ProseMirror > p").last.click()
    console.page.keyboard.press("End")
    console.page.keyboard.type(" ZZ")
    expect(console.page.locator(".ProseMirror")).to_contain_text("After ZZ")
    save(console)
    text = saved_text(console, path)
    assert "After ZZ\n" in text
    assert image in text


def test_draft_banner_disappears_after_a_save(console: Console, project: str) -> None:
    path = open_page(console, project, "banner")
    type_after(console, 0, " Typed.")
    console.page.get_by_text("Draft stored").wait_for()
    console.open(f"{project}/edit/{path}", ".ProseMirror")
    expect(console.page.locator("[data-draft-banner]")).to_be_visible()
    type_after(console, 0, " More.")
    save(console)
    assert "First words. Typed. More." in saved_text(console, path)
    expect(console.page.locator("[data-draft-banner]")).to_have_count(0)


def test_table_is_edited_as_a_table(console: Console, project: str) -> None:
    table = "| Name  | Price |\n|:------|------:|\n| Tea   |  2.50 |\n| Milk  |  1.00 |\n"
    path = open_page(console, project, "table", TEXT + "\n" + table)
    keyboard = console.page.keyboard
    console.page.get_by_role("cell", name="Tea").click()
    keyboard.press("End")
    keyboard.type("!")
    keyboard.press("Tab")
    keyboard.type("3|0")
    for _ in range(3):
        keyboard.press("Tab")
    keyboard.type("Salt")
    console.page.evaluate(PASTE, ["<p>fine</p><p>coarse</p>", "fine"])
    keyboard.press("Enter")
    console.page.get_by_role("button", name="Delete row").click()
    expect(console.page.get_by_role("toolbar", name="Table")).to_be_visible()
    console.page.get_by_role("columnheader", name="Name").click()
    console.page.get_by_role("button", name="Column after").click()
    console.page.get_by_label("Alignment of the column").select_option("center")
    save(console)
    assert saved_text(console, path).removeprefix(TEXT) == (
        "\n| Name  |  | Price |\n|:---:| --- |------:|\n| Tea!   |  |  3\\|0 |\n| Milk  |  |  1.00 |\n| Saltfine<br />coarse |  |  |\n"
    )


def test_inserted_table_rule_and_tasks(console: Console, project: str) -> None:
    path = open_page(console, project, "insert")
    keyboard = console.page.keyboard
    type_after(console, 1, " More.")
    keyboard.press("Enter")
    console.page.get_by_role("button", name="Table", exact=True).click()
    for word in ("A", "B", "1", "2", "3", "4"):
        keyboard.type(word)
        keyboard.press("Tab")
    console.page.get_by_role("button", name="Delete row").click()
    console.page.locator(".ProseMirror > p").last.click()
    keyboard.type("---")
    console.page.locator(".ProseMirror > p").last.click()
    keyboard.press("End")
    console.page.get_by_role("button", name="Task list").click()
    keyboard.type("first")
    keyboard.press("Enter")
    keyboard.type("~~second~~ done")
    console.page.get_by_label("Done").nth(1).check()
    assert console.problems() == {}
    console.resize(SIZE, "light")
    save(console)
    text = saved_text(console, path).partition("Second words. More.\n")[2].strip()
    assert text == "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n---\n\n- [ ] first\n- [x] ~~second~~ done"


@pytest.mark.parametrize("extension", CARDS)
def test_fields_of_cards_change_one_line_each(console: Console, project: str, extension: str) -> None:
    sources = "\n\n".join(source for _, _, _, source, _, _ in CARDS[extension])
    text = f"{TEXT}\n\n{sources}\n\nLast words.\n"
    path = open_page(console, project, "cards", text, extension)
    for name, label, typed, source, before, after in CARDS[extension]:
        field = console.page.get_by_role("group", name=name).get_by_label(label)
        field.press("End")
        field.press_sequentially(typed)
        expect(field).to_be_focused()
        text = text.replace(source, source.replace(before, after))
    save(console)
    assert saved_text(console, path) == text


def test_refused_value_of_a_card_is_shown_and_not_saved(console: Console, project: str) -> None:
    _, label, typed, source, before, after = CARDS["md"][1]
    path = open_page(console, project, "refused", f"{TEXT}\n{source}\n")
    field = console.page.get_by_label(label, exact=True).last
    field.press("End")
    field.press_sequentially(typed + "%}")
    expect(console.page.get_by_role("alert")).to_contain_text("This text cannot be saved here.")
    expect(field).to_have_value(f"Fog{typed}%}}")
    save(console)
    expect(console.page.locator(".toast")).to_have_count(0)
    field.press("ControlOrMeta+z")
    expect(field).to_have_value(f"Fog{typed}%")
    field.press("ControlOrMeta+z")
    expect(field).to_have_value("Fog")
    field.press("ControlOrMeta+Shift+z")
    expect(console.page.get_by_role("alert")).to_have_count(0)
    save(console)
    assert saved_text(console, path) == f"{TEXT}\n{source.replace(before, after[:-1] + '%' + after[-1])}\n"


def test_refused_value_of_a_card_is_shown_in_its_source(console: Console, project: str) -> None:
    _, label, _, source, before, _ = CARDS["md"][1]
    path = open_page(console, project, "refused-source", f"{TEXT}\n{source}\n")
    field = console.page.get_by_label(label, exact=True).last
    field.press("End")
    field.press_sequentially(" \\o/ %}")
    console.page.get_by_role("button", name="Edit as Markdown").click()
    expect(console.page.locator(".source-block")).to_have_text(source.replace(before, "'Fog \\o/ %}'"))
    console.page.keyboard.press("ControlOrMeta+z")
    expect(field).to_have_value("Fog ")
    console.page.get_by_role("button", name="Edit as Markdown").click()
    console.page.keyboard.press("Home")
    console.page.keyboard.type("x")
    save(console)
    assert saved_text(console, path) == f"{TEXT}\nx{source.replace(before, before[:-1] + ' ' + before[-1])}\n"


def test_card_is_left_by_keyboard_removed_and_edited_as_source(console: Console, project: str) -> None:
    sources = [source for edits in CARDS.values() for _, _, _, source, _, _ in edits]
    path = open_page(console, project, "keyboard", TEXT + "\n" + "\n\n".join(sources[:3]) + "\n")
    keyboard = console.page.keyboard
    type_after(console, 1, " Down")
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    expect(console.page.get_by_label("Src").first).to_be_focused()
    keyboard.press("ArrowUp")
    keyboard.type(" and up.")
    console.page.get_by_label("Width").press("ArrowDown")
    keyboard.type("Between.")
    title = console.page.get_by_role("group", name="Gallery").get_by_label("Title")
    title.press("Escape")
    console.page.evaluate("document.querySelector('galley-rich-editor').insert('Inserted.')")
    title.press("Escape")
    keyboard.press("Delete")
    console.page.get_by_role("group", name="Figure").last.get_by_role("button", name="Edit as Markdown").click()
    keyboard.press("End")
    keyboard.type("x")
    save(console)
    assert (
        saved_text(console, path)
        == f"{TEXT[:-1]} Down and up.\n\n{sources[0]}\n\nBetween.\n\nInserted.\n\n{sources[2]}x\n"
    )


def test_text_is_typed_before_the_first_and_below_the_last_card(console: Console, project: str) -> None:
    source = CARDS["md"][0][3]
    head, body = TEXT[: TEXT.index("First")], TEXT[TEXT.index("First") :]
    path = open_page(console, project, "edges", f"{head}{source}\n\n{body}\n{source}\n")
    type_after(console, 0, " More.")
    console.page.keyboard.press("ControlOrMeta+End")
    console.page.keyboard.type("End.")
    console.page.keyboard.press("ControlOrMeta+Home")
    console.page.keyboard.type("Start.")
    save(console)
    body = body.replace("First words.", "First words. More.")
    assert saved_text(console, path) == f"{head}Start.\n\n{source}\n\n{body}\n{source}\n\nEnd.\n"


def test_card_is_pasted_as_a_card_and_into_a_cell_as_text(console: Console, project: str) -> None:
    source = CARDS["md"][0][3]
    path = open_page(console, project, "pasted-card", TEXT + "\n| A |\n| --- |\n| b |\n")
    console.page.get_by_role("cell", name="b").click()
    console.page.keyboard.press("End")
    console.page.keyboard.type(": ")
    console.page.evaluate(PASTE, ["", source])
    type_after(console, 1, " More.")
    console.page.keyboard.press("Enter")
    console.page.evaluate(PASTE, ["", source])
    console.page.get_by_label("Width").fill("400")
    console.page.get_by_role("group", name="Figure").get_by_label("Caption").press("Escape")
    console.page.keyboard.press("ControlOrMeta+c")
    console.page.keyboard.press("ArrowRight")
    console.page.keyboard.press("ControlOrMeta+v")
    expect(console.page.get_by_role("group", name="Figure")).to_have_count(2)
    save(console)
    card = source.replace("300", "400")
    assert saved_text(console, path) == f"{TEXT[:-1]} More.\n\n{card}\n\n{card}\n\n| A |\n| --- |\n| b: {source} |\n"


class TestOtherPerson:
    def test_deleted_page_is_restored_with_the_text(self, console: Console, project: str) -> None:
        path = open_page(console, project, "deleted")
        type_after(console, 0, " Typed.")
        repository(console.service).commit({path: None}, "Delete it")
        save(console)
        expect(console.page.locator("main")).to_contain_text("Ada Author deleted it.")
        expect(console.page.locator("main .prose")).to_contain_text("First words. Typed.")
        console.page.get_by_role("button", name="Restore the page with my text").click()
        assert "First words. Typed." in saved_text(console, path)
        assert "+First words. Typed." in history(console.service)

    def test_renamed_page_is_followed(self, console: Console, project: str) -> None:
        path = open_page(console, project, "renamed")
        moved = f"{FOLDER}/moved.md"
        type_after(console, 0, " Typed.")
        theirs = TEXT.replace("Second", "Their second").encode()
        repository(console.service).commit({path: None, moved: theirs}, "Rename it")
        save(console)
        console.page.get_by_role("button", name="Continue in the renamed page").click()
        console.page.get_by_role("button", name="Keep both changes").click()
        assert saved_text(console, moved) == TEXT.replace("First words.", "First words. Typed.").replace(
            "Second", "Their second"
        )

    def test_edits_of_different_paragraphs_are_saved_by_one_button(self, console: Console, project: str) -> None:
        path = open_page(console, project, "apart")
        type_after(console, 0, " Typed.")
        repository(console.service).commit({path: TEXT.replace("Second", "Their second").encode()}, "Edit it")
        save(console)
        console.page.get_by_role("button", name="Keep both changes").click()
        assert saved_text(console, path) == TEXT.replace("First words.", "First words. Typed.").replace(
            "Second", "Their second"
        )

    @pytest.mark.parametrize(
        ("choice", "line"), [("Use theirs", "First words. Their."), ("Use mine", "First words. Typed.")]
    )
    def test_chosen_side_is_saved(self, console: Console, project: str, choice: str, line: str) -> None:
        path = open_page(console, project, choice[4:])
        type_after(console, 0, " Typed.")
        theirs = TEXT.replace("First words.", "First words. Their.").replace("title: Typing", "title: Theirs")
        repository(console.service).commit({path: theirs.encode()}, "Edit it")
        save(console)
        console.page.get_by_role("button", name=choice).click()
        expect(console.page.locator(".conflict__side[data-chosen]")).to_contain_text(line)
        save(console)
        console.page.wait_for_url("**done=*")
        assert repository(console.service).show(path).decode() == theirs.replace("First words. Their.", line)

    def test_force_push_keeps_the_text(self, console: Console, project: str) -> None:
        repo = repository(console.service)
        before = repo.head()
        path = open_page(console, project, "forced")
        type_after(console, 0, " Typed.")
        repo.git("update-ref", "refs/heads/main", before)
        save(console)
        expect(console.page.locator("main")).to_contain_text("The page is no longer part of the site.")
        console.page.get_by_label("Address", exact=True).fill("kept")
        console.page.get_by_role("button", name="Save as a new page").click()
        assert "First words. Typed." in saved_text(console, f"{FOLDER}/kept.md")
        assert path not in repo.entries()

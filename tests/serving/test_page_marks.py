"""The script in the pages of an editable preview in Chromium: pages of a loopback host in a frame of another origin.

The pages contain marks like those that `app.content.marks` writes. The page around the frame does what the console does.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from app.console.shell.static_files import built_file
from app.content.marks.characters import START, encode
from app.preview_proxy.page_script import NAME, PREFIX, PageScript
from tests.support.console_assets import build_assets

pytestmark = [pytest.mark.server, pytest.mark.slow]

FIRST, LAST = 100, 60_000
CONSOLE = """<!doctype html><iframe id="frame" sandbox="allow-scripts allow-same-origin allow-forms allow-popups"
 style="width: 800px; height: 600px; border: 0"></iframe><script>
window.messages = [];
const frame = document.getElementById("frame"), site = %r;
addEventListener("message", ({source, origin, data}) => {
  if (source !== frame.contentWindow || origin !== site || data.galley !== "page") return;
  const channel = new MessageChannel();
  window.port = channel.port1;
  port.onmessage = ({data}) => messages.push(data);
  source.postMessage({galley: "connect"}, site, [channel.port2]);
});
</script>"""
COUNT = "document.documentElement.outerHTML.split('\\u2063\\u2060\\u2063').length - 1"
"""JavaScript expression: the number of starts of marks in the page."""


class Host:
    """A server with the page of the console at `127.0.0.1` and the pages of a site at `localhost`."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[bytes, list[tuple[str, str]]]] = {}
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.answer(self)

            def log_message(self, *_: Any) -> None:
                """Write no log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        port = self.server.server_address[1]
        self.console, self.site = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
        file = built_file(NAME)
        assert file is not None
        self.script = PageScript(f"{self.site}{PREFIX}{NAME}", self.console, FIRST, LAST, file)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = urlsplit(request.path).path
        headers = [("Content-Type", "text/html; charset=utf-8")]
        if f"http://{request.headers['Host']}" == self.console:
            body = (CONSOLE % self.site).encode()
        elif path == PREFIX + NAME:
            body, headers = self.script.file.plain(), [("Content-Type", "text/javascript")]
        else:
            content, more = self.pages.get(path, (b"", []))
            headers, insertion = self.script.insert(200, [*headers, *more])
            assert insertion is not None
            body = insertion.feed(content) + insertion.end()
        request.send_response(200)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)


@dataclass
class Visit:
    """A page of the site in the frame of the console, and what the browser reported."""

    page: Page
    host: Host
    reports: list[str] = field(default_factory=list)

    def open(self, html: str, *headers: tuple[str, str], path: str = "/page", has_marks: bool = False) -> None:
        """Open a page and wait until its marks are removed."""
        self.host.pages[urlsplit(path).path] = (html.encode(), list(headers))
        self.page.goto(self.host.console)
        self.page.evaluate("url => { frame.src = url; }", self.host.site + path)
        self.wait("page")
        if not has_marks:
            assert self.frame.evaluate(COUNT) == 0

    @property
    def frame(self) -> Frame:
        return next(frame for frame in self.page.frames if frame.url.startswith(self.host.site))

    def wait(self, kind: str, condition: str = "true") -> Any:
        """Wait for a message and return the newest of its kind."""
        script = f"() => messages.findLast((message) => message.type === {kind!r} && ({condition}))"
        return self.page.wait_for_function(script, timeout=60_000).json_value()

    def messages(self, kind: str) -> list[Any]:
        return self.page.evaluate(f"messages.filter(({{type}}) => type === {kind!r})")

    def send(self, **message: Any) -> None:
        self.page.evaluate("message => port.postMessage(message)", message)

    def clear(self) -> None:
        self.page.evaluate("messages.length = 0")


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    build_assets()
    host = Host()
    yield host
    host.server.shutdown()
    host.server.server_close()


@pytest.fixture
def visit(host: Host, browser: Browser) -> Iterator[Visit]:
    with browser.new_context(viewport={"width": 900, "height": 700}) as context:
        visit = Visit(context.new_page(), host)
        visit.page.on("console", lambda message: visit.reports.append(message.text))
        visit.page.on("pageerror", lambda error: visit.reports.append(error.message))
        yield visit
        assert [report for report in visit.reports if not report.startswith("An iframe which has both")] == []


def document(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang=en><head><title>Title</title>{head}</head><body>{body}</body></html>"


def test_marks_are_removed_and_reported_in_the_order_of_the_page(visit: Visit) -> None:
    body = f"""<header><h1>Site{encode(101)}</h1></header><main><h1>Big <em>news</em>{encode(200)}</h1>
    <p>One{encode(201)} two{encode(202)}<img src=a.png alt="Boat{encode(203)}"></p><p>Again{encode(201)}</p></main>"""
    visit.open(document(body), path="/a/?b=c#d")
    report = visit.wait("page")
    assert report == {
        "type": "page",
        "url": "/a/?b=c#d",
        "title": "Title",
        "main": [200],
        "numbers": [101, 200, 201, 202, 203],
        "misplaced": [],
    }
    assert visit.frame.locator("img").get_attribute("alt") == "Boat"
    assert visit.frame.evaluate("document.querySelectorAll('script').length") == 0, "the element removes itself"


def test_numbers_of_other_previews_and_characters_of_authors_stay(visit: Visit) -> None:
    own, similar = f"word\u2060joined\u2063{START}", encode(150)[:-1] + chr(0x2060 + (ord(encode(150)[-1]) + 1) % 4)
    texts = [f"{own}{encode(120)}", encode(FIRST - 1), encode(LAST + 1), similar, encode(121)[:9]]
    visit.open(document("".join(f"<p>{text}</p>" for text in texts)), has_marks=True)
    assert visit.wait("page")["numbers"] == [120]
    assert visit.frame.locator("p").evaluate_all("list => list.map(({textContent}) => textContent)") == [
        own,
        *texts[1:],
    ]


def test_newer_numbers_are_marks_after_the_console_has_named_them(visit: Visit) -> None:
    visit.open(document(f"<p>Old{encode(LAST)}</p>"))
    visit.frame.evaluate("text => { document.querySelector('p').textContent = text; }", f"New{encode(LAST + 1)}")
    visit.frame.evaluate("text => document.body.append(text)", f"Forged{encode(LAST + 2)}")
    visit.send(type="range", last=LAST + 1)
    assert visit.wait("page", f"message.numbers.includes({LAST + 1})")["numbers"] == [LAST + 1]
    assert visit.frame.locator("p").text_content() == "New"
    assert visit.frame.evaluate(COUNT) == 1


def test_misplaced_marks_are_removed_and_reported(visit: Visit) -> None:
    marks = {number: encode(number) for number in range(300, 320)}
    head = f"<style>.a{marks[300]} {{}}</style><script>window.value = 'x{marks[301]}y{marks[302]}'</script>"
    body = f"""<p class="red{marks[303]}" style="color: red{marks[304]}">Text{marks[302]}</p>
    <img src="/a{marks[305]}.png" srcset="/b{marks[306]}.png 2x"><input value="v{marks[307]}">
    <a href="/tags/c{quote(marks[308])}/">c</a><a id=share href="https://social.example/?text=A%20b{quote(marks[302])}">share</a>"""
    html = document(body, head).replace("Title", f"Title{marks[302]}{marks[309]}")
    visit.open(html, has_marks=True)
    report = visit.wait("page")
    assert sorted(report["misplaced"]) == [300, 301, 302, 303, 304, 305, 306, 307, 308, 309]
    assert report["title"] == "Title"
    assert visit.frame.locator("p").get_attribute("class") == "red"
    assert visit.frame.locator("p").evaluate("({style}) => style.color") == "red"
    assert visit.frame.locator("input").input_value() == "v"
    assert visit.frame.locator("img").get_attribute("srcset") == "/b.png 2x"
    assert visit.frame.locator("#share").get_attribute("href") == "https://social.example/?text=A%20b"


def test_names_of_elements_and_links_to_them_are_restored(visit: Visit) -> None:
    one, two = encode(400), encode(401)
    body = f"""<nav><a href="#intro{quote(one)}">one</a><a href="#intro{two}">two</a></nav>
    <h2 id="intro{one}">Intro{one}</h2><h2 id="intro{two}">Intro{two}</h2><div style="height: 3000px"></div>
    <label for="field{one}">Name</label><input id="field{one}" aria-describedby="a intro{two}">"""
    visit.open(document(body), path=f"/ids#intro{quote(two)}")
    assert visit.frame.locator("h2").evaluate_all("list => list.map(({id}) => id)") == ["intro", "intro-1"]
    assert visit.wait("page")["misplaced"] == []
    assert visit.frame.evaluate("location.hash") == "#intro-1"
    assert visit.frame.get_by_label("Name").get_attribute("aria-describedby") == "a intro-1"
    visit.send(type="mode", edit=False)
    visit.frame.get_by_text("one").click()
    assert visit.frame.evaluate("document.querySelector(':target').textContent") == "Intro"


def test_text_that_scripts_add_and_change_is_cleaned(visit: Visit) -> None:
    visit.open(document(f"<main><p>First{encode(505)}</p><x-card></x-card><i>{encode(506)}Text</i></main>"))
    visit.frame.evaluate(
        """marks => {
        const main = document.querySelector("main"), copy = document.createElement("section");
        copy.innerHTML = `<h2 title="Tip${marks[0]}">Moved${marks[1]}</h2>`;
        main.append(copy);
        main.querySelector("p").firstChild.data = "Changed" + marks[2];
        customElements.define("x-card", class extends HTMLElement {
          connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = `<b>Shadow${marks[3]}</b>`; }
        });
        main.append(main.querySelector("i").firstChild);
        setTimeout(() => { main.querySelector("x-card").shadowRoot.firstChild.setAttribute("aria-label", "Label" + marks[4]); }, 50);
    }""",
        [encode(number) for number in range(500, 505)],
    )
    visit.wait("page", "message.numbers.length === 6")
    assert visit.frame.evaluate(COUNT) == 0
    assert visit.wait("page")["numbers"] == [506, 502, 503, 504, 501, 500]
    assert (
        visit.frame.evaluate("document.querySelector('x-card').shadowRoot.innerHTML")
        == '<b aria-label="Label">Shadow</b>'
    )


def test_copies_of_elements_have_their_numbers(visit: Visit) -> None:
    """A carousel repeats its slides. Equal texts of two files, or in other elements, are no copies."""
    slide = f'<p class=slide>Slide{encode(510)} <img alt="Boat{encode(511)}" src="data:,"></p>'
    visit.open(document(f"<main>{slide}<p>Same{encode(512)}</p><p>Same{encode(513)}</p></main>"))
    visit.frame.evaluate(
        """() => {
        const main = document.querySelector("main");
        main.append(main.firstChild.cloneNode(true), main.children[1].cloneNode(true));
        main.insertAdjacentHTML("beforeend", "<p class=slide>Slide</p><p>Slide </p>");
    }"""
    )
    slides = visit.frame.locator(".slide")
    visit.frame.locator(".slide").nth(1).click(position={"x": 5, "y": 5})
    assert visit.wait("select")["numbers"] == [510]
    slides.nth(1).locator("img").dispatch_event("click")
    assert visit.wait("select", "message.kind === 'image'")["numbers"] == [511, 510]
    for text in (visit.frame.locator("p:not(.slide)").nth(2), visit.frame.locator("p:not(.slide)").nth(3)):
        visit.clear()
        text.click()
        assert visit.wait("select")["numbers"] == []


def test_marks_are_removed_after_a_page_has_compared_its_texts(visit: Visit) -> None:
    text = f"Hydrated{encode(600)}"
    script = f"""<script type=module>window.same = document.getElementById("root").textContent === {text!r};
    document.getElementById("root").textContent = {text!r} + "!";
    setTimeout(() => {{ window.later = document.getElementById("root").textContent === {text!r} + "!"; }});</script>"""
    visit.open(document(f"<div id=root>{text}</div><script>{text!r}</script>{script}"), has_marks=True)
    assert visit.wait("page", "message.numbers.length")["misplaced"] == [], "the data of such a page contains its texts"
    assert visit.frame.evaluate("[same, later, document.getElementById('root').textContent]") == [
        True,
        True,
        "Hydrated!",
    ]


def test_marks_are_removed_after_react_has_connected_its_nodes(visit: Visit) -> None:
    script = """<script>addEventListener("load", () => setTimeout(() => {
      const node = document.getElementById("__next").firstElementChild;
      window.same = node.textContent.startsWith("React\\u2063");
      node.__reactFiber$a = {};
    }, 600));</script>"""
    visit.open(document(f"<div id=__next><p>React{encode(610)}</p></div>{script}"), has_marks=True)
    visit.wait("page", "message.numbers.includes(610)")
    assert visit.frame.evaluate("[same, document.querySelector('p').textContent]") == [True, "React"]


def test_text_of_an_island_is_cleaned_after_its_hydration_and_copied_without_marks(visit: Visit) -> None:
    island = f"<astro-island ssr><p>Island <b>text</b>{encode(700)}</p></astro-island>"
    script = "<script>window.copied = []; addEventListener('copy', ({clipboardData: data}) => copied.push(data.getData('text/plain'), data.getData('text/html')));</script>"
    visit.open(document(island, script), has_marks=True)
    assert visit.frame.evaluate(COUNT) == 1
    visit.frame.locator("b").click()
    visit.frame.evaluate("getSelection().selectAllChildren(document.querySelector('p'))")
    visit.page.keyboard.press("Control+c")
    assert visit.frame.evaluate("copied") == ["Island text", "Island <b>text</b>"]
    visit.frame.evaluate("document.querySelector('astro-island').removeAttribute('ssr')")
    visit.wait("page", "message.numbers.includes(700)")
    assert visit.frame.evaluate(COUNT) == 0


PARTS = f"""<main id=list800><a id=card href="/other"><h2>Card{encode(800)}</h2><img id=plain src="data:,"></a>
<p id=text>Some <a href="/linked">linked</a> text{encode(801)}<img id=boat alt="Boat{encode(802)}" width=20 height=20></p>
<details><summary>More{encode(803)}</summary>Hidden</details><button onclick="window.acted = true">Act</button>
<div id=box>Box{encode(804)} <button id=inner onclick="window.inner = true">Inner</button></div>
<menu onpointerdown="window.opened = true"><button aria-haspopup=menu>Menu{encode(805)}</button></menu></main>"""


class TestSelection:
    def test_click_sends_the_element_and_the_link_does_not_act(self, visit: Visit) -> None:
        visit.open(document(PARTS))
        visit.frame.locator("h2").click()
        message = visit.wait("select")
        assert message["rect"] == visit.frame.locator("h2").evaluate(
            "node => { const {x, y, width, height} = node.getBoundingClientRect(); return {x, y, width, height}; }"
        )
        del message["rect"]
        assert message == {
            "type": "select", "numbers": [800], "text": "Card", "kind": "text", "href": f"{visit.host.site}/other",
            "source": None,
        }  # fmt: skip
        assert visit.frame.url.endswith("/page")

    @pytest.mark.parametrize(
        ("selector", "numbers", "kind", "text"),
        [
            ("#text a", [801], "text", "Some linked text"),
            ("#boat", [802, 801], "image", "Boat"),
            ("summary", [803], "text", "More"),
        ],
    )
    def test_click_in_a_marked_element_sends_the_nearest_first(
        self, visit: Visit, selector: str, numbers: list[int], kind: str, text: str
    ) -> None:
        visit.open(document(PARTS))
        visit.frame.locator(selector).click()
        message = visit.wait("select")
        assert (message["numbers"], message["kind"], message["text"]) == (numbers, kind, text)
        assert visit.frame.locator("details").get_attribute("open") is None

    def test_attributes_of_the_site_win_over_marks(self, visit: Visit) -> None:
        card = '<article data-galley-file="posts/a.md"><h2 data-galley-field="title"><b>SHORT%s</b></h2><p>Text%s</p></article>'
        html = (
            card % (encode(806), encode(807))
            + '<footer data-galley-field="site.name"><dl><dt><i>Name</i></dt></dl></footer>'
        )
        visit.open(document(html))
        for selector, source, text in [
            ("b", {"file": "posts/a.md", "field": "title"}, "SHORT"),
            ("p", None, "Text"),
            ("i", {"file": "", "field": "site.name"}, "Name"),
        ]:
            visit.clear()
            visit.frame.locator(selector).click()
            message = visit.wait("select")
            assert (message["source"], message["text"]) == (source, text)

    @pytest.mark.parametrize(
        ("body", "selector", "numbers"),
        [
            ("<article><h1>Title</h1><pre>code</pre>Text%s <b>more</b></article>", "h1", []),
            ("<article><h1>Title</h1><pre>code</pre>Text%s <b>more</b></article>", "b", [815]),
            ("<section aria-label='Part%s'><p>Text</p></section>", "p", []),
            ("<ul><li>Item%s<p>More</p></li></ul>", "p", [815]),
            ("<blockquote>Text%s<pre>code</pre></blockquote>", "pre", [815]),
        ],
    )
    def test_mark_of_a_container_is_not_that_of_other_texts_in_it(
        self, visit: Visit, body: str, selector: str, numbers: list[int]
    ) -> None:
        visit.open(document(body % encode(815)))
        visit.frame.locator(selector).click()
        assert visit.wait("select")["numbers"] == numbers

    def test_long_text_is_cut(self, visit: Visit) -> None:
        visit.open(document(f"<p>{'a' * 5_000}{encode(810)}</p>"))
        visit.frame.locator("p").click(position={"x": 2, "y": 2})
        assert visit.wait("select")["text"] == "a" * 2_000

    def test_unmarked_controls_act(self, visit: Visit) -> None:
        visit.open(document(PARTS))
        visit.frame.get_by_text("Act").click()
        visit.frame.get_by_text("Inner").click()
        assert visit.frame.evaluate("[window.acted, window.inner]") == [True, True]
        assert visit.messages("select") == []

    def test_marked_menu_does_not_open(self, visit: Visit) -> None:
        visit.open(document(PARTS))
        visit.frame.get_by_text("Menu").click()
        assert visit.wait("select")["numbers"] == [805]
        assert visit.frame.evaluate("window.opened") is None

    @pytest.mark.parametrize("has_key", [True, False])
    def test_links_and_accordions_act_in_browse_mode_and_with_the_alt_key(self, visit: Visit, has_key: bool) -> None:
        visit.open(document(PARTS))
        if not has_key:
            visit.send(type="mode", edit=False)
        modifiers: list[Any] = ["Alt"] if has_key else []
        visit.frame.locator("summary").click(modifiers=modifiers)
        expect(visit.frame.locator("details")).to_have_attribute("open", "")
        visit.host.pages["/other"] = (document(f"<h1>Other{encode(820)}</h1>").encode(), [])
        visit.frame.locator("h2").click(modifiers=modifiers)
        assert visit.wait("page", "message.url === '/other'")["main"] == [820]
        assert visit.messages("select") == []

    def test_keyboard_reaches_marked_elements_and_selects(self, visit: Visit) -> None:
        visit.open(
            document(f"<button>First</button><h2>One{encode(830)}</h2><a href=/x>Link</a><p>Two{encode(831)}</p>")
        )
        visit.frame.locator("button").focus()
        reached = []
        for _ in range(3):
            visit.page.keyboard.press("Tab")
            reached.append(visit.frame.evaluate("document.activeElement.textContent"))
        assert reached == ["One", "Link", "Two"]
        visit.page.keyboard.press("Enter")
        assert visit.wait("select")["numbers"] == [831]
        visit.page.keyboard.press("Shift+Tab")
        assert visit.frame.evaluate("document.activeElement.textContent") == "Link"
        assert visit.frame.locator("[tabindex]").count() == 0
        visit.page.keyboard.press("Escape")
        visit.wait("leave")

    def test_console_selects_an_element_and_receives_its_moves(self, visit: Visit) -> None:
        visit.open(
            document(f"<div style='height: 2000px'></div><p>Below{encode(840)}</p><div style='height: 2000px'></div>")
        )
        visit.send(type="select", number=840)
        first = visit.wait("move")["rect"]
        assert 0 < first["y"] < 600
        visit.frame.evaluate("scrollBy(0, 50)")
        visit.wait("move", f"message.rect.y === {first['y'] - 50}")
        visit.frame.evaluate("document.querySelector('p').remove()")
        visit.wait("move", "message.rect === null")
        visit.frame.evaluate("text => { document.body.innerHTML = text; }", f"<p>Back{encode(840)}</p>")
        visit.wait("move", "message.rect !== null")
        visit.send(type="clear")
        visit.clear()
        visit.frame.evaluate("document.body.style.paddingTop = '40px'")
        visit.send(type="select", number=841)
        assert visit.wait("move")["rect"] is None
        assert len(visit.messages("move")) == 1


def test_strict_policy_of_the_site_permits_the_script_and_its_outlines(visit: Visit) -> None:
    policy = "default-src 'none'; style-src 'none'; script-src 'strict-dynamic'; require-trusted-types-for 'script'"
    meta = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">"
    visit.open(document(f"<h1>Strict{encode(900)}</h1>", meta), ("Content-Security-Policy", policy))
    visit.frame.locator("h1").click()
    assert visit.wait("select")["numbers"] == [900]
    boxes = "[...document.documentElement.children].map((node) => [node.localName, node.matches(':popover-open'), getComputedStyle(node).pointerEvents])"
    assert visit.frame.evaluate(boxes)[2:] == [["div", True, "none"]]


def test_script_adds_no_globals(visit: Visit) -> None:
    names = "<script>window.before = new Set(Object.getOwnPropertyNames(window));</script>"
    visit.open(document(f"<p>Text{encode(910)}</p>", names))
    assert (
        visit.frame.evaluate(
            "Object.getOwnPropertyNames(window).filter((name) => name !== 'before' && !before.has(name))"
        )
        == []
    )


def test_flood_of_marks_is_removed_in_bounded_steps(visit: Visit) -> None:
    """Steps are counted: what runs between two tasks, and how often a text is read and written."""
    count = """<script>
    window.reads = window.writes = window.step = window.longest = 0;
    const data = Object.getOwnPropertyDescriptor(CharacterData.prototype, "data");
    Object.defineProperty(CharacterData.prototype, "data", {...data,
      get() { reads++; return data.get.call(this); },
      set(value) { writes++; longest = Math.max(longest, ++step); data.set.call(this, value); }});
    const later = setTimeout;
    window.setTimeout = (run, ...given) => later(() => { step = 0; run(); }, ...given);
    </script>"""
    body = "".join(f"<p id=p>Text {number}{encode(number)}</p>" for number in range(1_000, 51_000))
    visit.open(document(body, count), has_marks=True)
    visit.frame.wait_for_function(f"{COUNT} === 0")
    reads, writes, longest = visit.frame.evaluate("[reads, writes, longest]")
    assert writes == 50_000
    assert reads <= 4 * 50_000
    assert longest <= 16_000 / 2, "each element has a text"
    report = visit.wait("page")
    assert report["numbers"] == [*range(1_000, 3_000)]
    visit.frame.locator("p").last.click()
    assert visit.wait("select")["numbers"] == [50_999]

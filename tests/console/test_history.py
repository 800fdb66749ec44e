"""The history as a person reads it: summaries, titles, values and marked text."""

import html
import re
from datetime import date

import pytest
from flask import Flask, g

from app.console.files.simple_page import value_text
from app.console.project.changes import marked
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

FILE = "content/posts/first.md"
BEFORE = b"---\ntitle: First post\ndate: 2026-05-27\ndraft: true\ntags: [a, b]\n---\nOne line.\n\nAnother line.\n"
AFTER = b"---\ntitle: First post\ndate: 2026-06-01\ndraft: false\ntags: [a, c]\n---\nOne **word**.\n\nAnother line.\n\nMore.\n"


def committed(console: ConsoleScene) -> tuple[str, str]:
    """Commit a change of a page with the message of a save, and return the versions before and after it."""
    repo = console.site.repo
    first = repo.text("rev-parse", "main").strip()
    repo.commit({FILE: AFTER}, f"Update {FILE}")
    return first, repo.text("rev-parse", "main").strip()


def test_history_of_a_file_summarizes_each_version(console: ConsoleScene) -> None:
    committed(console)
    shown = console.send("owner", "GET", f"/console/projects/:project_id/history/{FILE}").text
    assert "Changed: Date, Draft, Tags, and 2 paragraphs" in shown
    assert f"Update {FILE}" not in shown
    console.site.repo.commit({FILE: AFTER.replace(b"word", b"line")}, "Name the line")
    shown = console.send("owner", "GET", f"/console/projects/:project_id/history/{FILE}").text
    assert re.search(r"<bdi>Name the line</bdi></a> <span[^>]*><bdi>Changed: 1 paragraph</bdi>", shown)


def test_history_of_a_project_shows_the_title_of_a_page(console: ConsoleScene) -> None:
    committed(console)
    shown = console.send("owner", "GET", "/console/projects/:project_id/history").text
    assert "Update “First post”" in shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Upload static/img/boat.png", "Upload “boat.png”"),
        ("Update data/menu/main-links.yml", "Update “Main links”"),
        ("Move assets/css/site.css to themes/a/site.css", "Move “site.css” to “site.css”"),
        ("Read https://example.org/a/b.html and/or ask", "Read https://example.org/a/b.html and/or ask"),
    ],
)
def test_history_names_files_of_all_folders_without_paths(console: ConsoleScene, message: str, shown: str) -> None:
    console.site.repo.commit({FILE: AFTER + message.encode()}, message)
    assert f"<bdi>{shown}</bdi>" in console.send("owner", "GET", "/console/projects/:project_id/history").text


def test_comparison_shows_values_and_marked_text_before_the_lines(console: ConsoleScene) -> None:
    before, after = committed(console)
    shown = console.send(
        "owner", "GET", f"/console/projects/:project_id/history/{FILE}?base={before}&head={after}"
    ).text
    values = re.findall(r"<td[^>]*table__value[^>]*>(.*?)</td>", shown)
    removed, added = '<bdi class="visually-hidden">removed: </bdi>', '<bdi class="visually-hidden">added: </bdi>'
    assert values == [
        *(f"{removed}<del>May 27, 2026</del>", f"{added}<ins>June 1, 2026</ins>"),
        *(f"{removed}<del>Yes</del>", f"{added}<ins>No</ins>"),
        *(f"{removed}<del>b</del>", "", "", f"{added}<ins>c</ins>"),
    ]
    assert "<p>One <del>line</del>.</p>" in shown
    assert "<ins>word</ins></strong>" in shown
    assert shown.index("<del>line</del>") < shown.index("Changed lines")
    assert '<details class="disclosure"><summary>Changed lines' in shown


@pytest.mark.parametrize("address", [None, "https://site.example/docs/"])
def test_links_of_a_comparison_lead_to_the_site(console: ConsoleScene, address: str | None) -> None:
    before, _ = committed(console)
    text = "[a](/about/) [b](next.md) [c](https://other.example/x) [d](//other.example/y) [e](#part)\n"
    after = console.site.repo.commit({FILE: text.encode()})
    console.site.owner.again().patch(f"/project/{console.site.project}", {"site_url": address}).ok()
    shown = console.send("owner", "GET", f"/console/projects/:project_id/history/{FILE}?base={before}&head={after}")
    prose = "".join(re.findall(r'compare__side--after prose"[^>]*>(.*?)</div>', shown.text, re.DOTALL))
    local = ["https://site.example/about/", "https://site.example/docs/next.md"] if address else []
    part = ["https://site.example/docs/#part"] if address else []
    expected = [*local, "https://other.example/x", "//other.example/y", *part]
    assert re.findall(r'href="([^"]*)"', prose) == expected


def test_restore_names_its_version_in_the_history_and_in_the_comparison(console: ConsoleScene) -> None:
    url, owner = f"/console/projects/{console.ids['project_id']}/history/{FILE}", console.site.owner
    before, after = committed(console)
    restore = r'<form method="post".*?name="commit_sha" value="(\w+)".*?title="([^"]+)">(?:<svg.*?</svg>)?Restore this version<'
    [(sha, date)] = re.findall(restore, owner.client.get(url).text, re.DOTALL)
    assert sha == before
    compared = f"{url}?base={before}&head={after}"
    [line] = [each for each in re.findall(r"<li>(.*?)</li>", owner.client.get(compared).text) if "Before:" in each]
    assert re.findall(restore, line) == [(before, date)]
    assert "Restore this version" not in owner.client.get(compared).text.replace(line, "")
    fields = form_of(owner.client.get(compared), f"/restore/{FILE}")
    assert "done=restored" in submit(owner, f"{url.replace('/history/', '/restore/')}", **fields).location
    assert console.site.repo.show(FILE) == BEFORE
    name, shown = f"Restore “First post” (version of {date})", html.unescape(owner.client.get(url).text)
    assert re.search(rf"<bdi>{re.escape(name)}</bdi></a> <span[^>]*><bdi>Changed: ", shown)
    [line] = [each for each in re.findall(r"<li>(.*?)</li>", owner.client.get(compared).text) if "After:" in each]
    assert re.findall(restore, line)[0][0] == after
    assert "Restore this version" not in owner.client.get(compared).text.replace(line, "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "Ja"),
        (None, ""),
        (["a", "b"], "a, b"),
        ("2026-05-27", "27. Mai 2026"),
        (date(2026, 5, 27), "27. Mai 2026"),
        ("2026-05-27T10:00:00+02:00", "27.05.2026, 10:00:00"),
        ("2026-99-99", "2026-99-99"),
        ([{"link_title": "Home", "new": False}], "Titel des Links: Home\nNew: Nein"),
        (3, "3"),
    ],
)
def test_value_text_is_in_the_form_of_the_reader(app: Flask, value: object, expected: str) -> None:
    with app.test_request_context():
        g.console_language, g.console_timezone = "de", "Europe/Berlin"
        assert value_text(value) == expected


def image(source: str, text: str) -> str:
    return f'<p><span class="prose__image" title="{source}">{text}</span>'


@pytest.mark.parametrize(
    ("text", "ranges", "expected"),
    [
        ("# Old title", [(0, 5)], "<h1><ins>Old</ins> title</h1>"),
        ("- a\n- b", [(0, 7)], "<ul>\n<li><ins>a</ins></li>\n<li><ins>b</ins></li>\n</ul>"),
        ("a **b** c", [(0, 5)], "<p><ins>a </ins><strong><ins>b</ins></strong> c</p>"),
        ("[a](http://b.example/c)", [(11, 12)], '<p><a href="http://b.example/c">a</a></p>'),
        ("<b>x</b> y", [(9, 10)], "<p>&lt;b&gt;x&lt;/b&gt; <ins>y</ins></p>"),
        (
            "[a](//b) c [d](//e)",
            [(0, 9), (13, 16)],
            '<p><a href="//b"><ins>a</ins></a> c <a href="//e">d</a></p>',
        ),
        ("![a b](/c.png) d", [(0, 4), (15, 16)], image("/c.png", "<ins>a </ins>b") + " <ins>d</ins></p>"),
        ("![](/c/d%20e.png?f)", [(0, 19)], image("/c/d%20e.png?f", "<ins>d e.png</ins>") + "</p>"),
        ("\ue000x\ue001", [(0, 1)], "<p>\ue000x\ue001</p>"),
    ],
)
def test_marked_text_keeps_its_structure(text: str, ranges: list[tuple[int, int]], expected: str) -> None:
    assert marked(text, ranges, "ins").strip() == expected

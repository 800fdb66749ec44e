"""Links of a page: the search of pages with links in the form of the site, and links to missing pages."""

from typing import Any

import pytest

from app.content.text_code import blank_code
from tests.console.conftest import ConsoleScene
from tests.console.test_relations import add, url_of

FILES = {
    "hugo.toml": b'title = "Signals"\n',
    "content/posts/tides.md": b"---\ntitle: Tides and currents\naliases: [/old/tides/]\n---\n",
    "content/posts/_index.md": b"---\ntitle: Posts\n---\n",
    "content/about.md": b"# About the harbour\n",
    ".github/about.md": b"# About this repository\n",
}
GOOD = """
[a](/posts/tides/) [b](tides.md) [c]({{< ref "tides" >}}) {{< relref "/posts/tides.md#part" >}} [d](../about/#x) <a href="/about.html">
[e](/old/tides) [f](/tags/fog/) [g](/posts/) [h](https://example.org/none.md) [i](mailto:a@example.org) [j](#none) [k](/files/a.pdf)
[l]({{ site.url }}/none) [m](/generated/api/x/) [term](g) [root](posts/tides.md) [n](second.md "Title") ![o](/none.png) `[p](none.md)` [q](/de/posts/first/)
```md
[r](none.md)
```
"""
BAD = ["none.md", "../posts/none.md", "/posts/none/", "/abuot/", "/content/posts/none.md", "../missing/"]


@pytest.fixture
def scene(console: ConsoleScene) -> ConsoleScene:
    """Return the scene with more pages."""
    add(console, FILES)
    return console


def find(scene: ConsoleScene, q: str, file: str = "content/posts/second.md") -> list[tuple[str, str]]:
    response = scene.site.owner.client.get(url_of(scene, "links"), query_string={"q": q, "file": file})
    assert response.status_code == 200
    return [(one["title"], one["url"]) for one in response.json["pages"]]


def missing(scene: ConsoleScene, body: str) -> str:
    response = scene.site.owner.client.post(url_of(scene, "check-links/content/posts/second.md"), data={"body": body})
    assert response.status_code == 200
    return response.text


@pytest.mark.one_database
def test_pages_are_found_by_title_with_a_link_in_the_form_of_the_site(scene: ConsoleScene) -> None:
    assert find(scene, "CURRENTS tides") == [("Tides and currents", '{{< ref "/posts/tides.md" >}}')]
    assert find(scene, "about") == [("About the harbour", '{{< ref "/about.md" >}}')]
    assert ("First post", '{{< ref "/posts/first.md" >}}') in find(scene, "")
    assert find(scene, "second") == []
    text = b'See [it]({{% relref "posts/first" %}}).\n'
    add(scene, {"content/posts/first.md": text, "content/posts/second.md": b"[a](/posts/first)\n"})
    assert find(scene, "tides") == [("Tides and currents", "/posts/tides")]
    assert find(scene, "tides", "content/posts/first.md") == [("Tides and currents", '{{% relref "posts/tides" %}}')]


def test_links_to_missing_pages_are_listed_and_others_are_not(scene: ConsoleScene) -> None:
    assert missing(scene, GOOD).strip() == ""
    text = missing(scene, GOOD + " ".join(f"[x]({url})" for url in BAD) + ' {{< ref "none" >}}')
    assert "7 links lead to pages that do not exist" in text
    for url in [*BAD, "none"]:
        assert f'<bdi class="mono">{url}</bdi>' in text


@pytest.mark.one_database
def test_editor_shows_missing_links_and_saves_them(scene: ConsoleScene) -> None:
    add(scene, {"content/posts/second.md": b"See [this](none.md).\n"})
    page = scene.site.owner.client.get(url_of(scene, "edit/content/posts/second.md")).text
    assert "1 link leads to a page that does not exist" in page


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("a\n```\nb\n~~~\n```\nc", "a\nc"),
        ("a\n~~~~ md\nb\n~~~\nc", "a"),
        ("a `b` c `d", "a  c `d"),
        ("- a\n\n      1. ```md\n      b\n      ```\nc", "- a\n\nc"),
        ("a <!-- b --> c {% raw %}d{% endraw %} e {% highlight md %}f", "a  c  e "),
    ],
)
def test_code_is_not_checked(text: str, remaining: str) -> None:
    assert blank_code(text).split() == remaining.split()
    assert len(blank_code(text)) == len(text)


def test_links_of_hostile_text_are_checked_in_bounded_time(scene: ConsoleScene) -> None:
    bait: Any = "".join(f"[a](/posts/{n}/)" for n in range(10_000)) + "`" * 10_000 + "[" * 10_000
    assert "200 links lead" in missing(scene, bait)

"""Relations in the form of the editor, and the search of their entries."""

import re
from typing import Any

import pytest

from app.resources.project_content.schema import relation_entries
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of

pytestmark = pytest.mark.one_database

FILE = "content/posts/related.md"
SCHEMA = b"""
collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string}
      - {name: author, type: relation, collection: people, value_field: key}
      - {name: others, type: relation, collection: people, multiple: true}
      - {name: editor, type: relation, collection: people, title_field: "{{key}}: {{title}}"}
      - {name: port, type: relation, collection: ports, value_field: "ports.*.id"}
      - {name: ship, type: relation, collection: ships, value_field: name}
      - {name: nothing, type: relation, collection: none}
      - name: blocks
        type: list
        item:
          type: object
          variant_key: kind
          variants:
            - {name: crew, type: object, fields: [{name: captain, type: relation, collection: people, value_field: "{{name}}"}]}
  - {name: people, folder: content/people, fields: [{name: name, type: string}]}
  - {name: ports, folder: data, pattern: ports.yml}
  - {name: ships, folder: ships, pattern: "*.json"}
"""
FILES = {
    ".galley.yml": SCHEMA,
    FILE: b"---\ntitle: Related\nauthor: j1\nothers: [jane, nobody]\nport: 7\nblocks: [{kind: crew, captain: Jane Doe}]\n---\nText.\n",
    "content/people/jane.md": b"---\nname: Jane Doe\nkey: j1\n---\n",
    "content/people/bob/index.md": b"---\ntitle: Bob\nkey: b1\n---\n",
    "data/ports.yml": b"ports:\n  - {id: 7, name: Oslo}\n  - {id: 9, name: Bergen}\n",
    "ships/a.json": b'{"name": "Aurora", "title": "MS Aurora"}',
}


@pytest.fixture
def scene(console: ConsoleScene) -> ConsoleScene:
    """Return the scene with a schema, its collections, and a page with relations."""
    add(console, FILES)
    return console


def add(scene: ConsoleScene, files: dict[str, Any]) -> None:
    """Commit files and index them."""
    scene.site.repo.commit(files)
    scene.site.owner.post(scene.site.path("/reindex")).ok(202)
    scene.site.world.work_off()


def url_of(scene: ConsoleScene, path: str = f"edit/{FILE}") -> str:
    return f"/console/projects/{scene.ids['project_id']}/{path}"


def find(scene: ConsoleScene, **query: str) -> list[tuple[str, str]]:
    """Return the values and titles that the search of the script finds."""
    response = scene.site.owner.client.get(url_of(scene, "relations"), query_string=query)
    assert response.status_code == 200
    return [(one["value"], one["title"]) for one in response.json["options"]]


def test_relations_show_titles_and_keep_values_without_an_entry(scene: ConsoleScene) -> None:
    response = scene.site.owner.client.get(url_of(scene))
    for part in (
        '<option value="&#34;j1&#34;" selected>Jane Doe</option>',
        '<option value="&#34;b1&#34;">Bob</option>',
        '<option value="7" selected>Oslo</option>',
        '<option value="&#34;bob&#34;">b1: Bob</option>',
        '<option value="&#34;jane&#34;">j1: Jane Doe</option>',
        '<option value="&#34;Aurora&#34;">MS Aurora</option>',
        '<option value="bob">Bob</option><option value="jane">Jane Doe</option>',
        "No entry has this value: nobody",
        '<option value="&#34;Jane Doe&#34;" selected>Jane Doe</option>',
        'type="text" id="fm.nothing"',
    ):
        assert part in response.text
    form = form_of(response, f"/edit/{FILE}")
    before = scene.site.repo.head()
    assert scene.site.owner.client.post(url_of(scene), data=form).status_code == 303
    assert scene.site.repo.head() == before
    form |= {"fm.author": '"b1"', "fm.port": "9", "fm.others": "bob\r\nnobody\r\njane"}
    assert scene.site.owner.client.post(url_of(scene), data=form).status_code == 303
    assert scene.site.repo.show(FILE) == (
        b"---\ntitle: Related\nauthor: b1\nothers: [bob, nobody, jane]\nport: 9\n"
        b"blocks: [{kind: crew, captain: Jane Doe}]\n---\nText.\n"
    )


def test_entries_are_found_by_words_of_their_titles(scene: ConsoleScene) -> None:
    assert find(scene, collection="people", value="key", q="doe JANE") == [("j1", "Jane Doe")]
    assert find(scene, collection="people", q="bo") == [("bob", "Bob")]
    assert find(scene, collection="ports", value="ports.*.id", q="berg") == [("9", "Bergen")]
    assert find(scene, collection="ships", value="name", q="ms") == [("Aurora", "MS Aurora")]
    assert find(scene, collection="people", q="x") == []
    response = scene.site.owner.client.get(url_of(scene, "relations?collection=unknown"))
    assert response.status_code == 404


def test_page_of_a_large_collection_contains_the_first_entries_and_the_titles_of_stored_values(
    scene: ConsoleScene,
) -> None:
    people = {
        f"content/people/a{n:03}.md": f"---\ntitle: A {n}\nkey: k{n}\n---\n".encode()
        for n in range(relation_entries.MAX_OPTIONS)
    }
    add(scene, {**people, FILE: b"---\nauthor: gone\nothers: [jane, nobody]\n---\n"})
    page = scene.site.owner.client.get(url_of(scene)).text
    assert "No entry has this value: gone" in page
    assert "No entry has this value: nobody" in page
    assert 'data-stored="{&#34;jane&#34;: &#34;Jane Doe&#34;}"' in page
    assert "relations?collection=people&amp;value=key" in page
    assert find(scene, collection="people", value="key", q="jane") == [("j1", "Jane Doe")]
    assert find(scene, collection="people", value="key", q="A 150") == [("k150", "A 150")]
    more = {f"content/people/x{n:03}.md": f"---\ntitle: A person of {n}\n---\n".encode() for n in range(201)}
    add(scene, more)
    assert find(scene, collection="people", q="person of 199") == [("x199", "A person of 199")]


def _rows(page: str) -> dict[str, str]:
    """Return the rows of the list of posts by the names of their files."""
    rows = re.findall(r"<tr>(?:(?!</tr>).)*?/edit/content/posts/.*?</tr>", page, re.DOTALL)
    return {re.findall(r'/edit/content/posts/([^"?]*)"', row)[0]: row for row in rows}


def test_list_shows_titles_of_related_entries_and_filters_by_them(scene: ConsoleScene) -> None:
    authors = {"a": "j1", "b": "b1", "c": "b1", "d": "gone"}
    add(scene, {f"content/posts/{name}.md": f"---\nauthor: {key}\n---\n".encode() for name, key in authors.items()})
    url = f"/console/projects/{scene.ids['project_id']}/collections/posts"
    listed = scene.site.owner.client.get(url).text
    rows = _rows(listed)
    shown = {path: re.findall(r"<bdi>([^<]*)</bdi>", row)[-1] for path, row in rows.items()}
    assert {path: shown[path] for path in ("a.md", "b.md", "d.md")} == {
        "a.md": "Jane Doe",
        "b.md": "Bob",
        "d.md": "gone",
    }
    [select] = re.findall(r'<select[^>]* name="filter\[author\]">(.*?)</select>', listed, re.DOTALL)
    assert re.findall(r'value="([^"]*)"[^>]*>([^<]*)<', select)[1:] == [
        ("b1", "Bob"),
        ("gone", "gone"),
        ("j1", "Jane Doe"),
    ]
    filtered = scene.site.owner.client.get(f"{url}?filter[author]=b1").text
    assert list(_rows(filtered)) == ["b.md", "c.md"]
    grouped = scene.site.owner.client.get(f"{url}?filter=&group=author").text
    assert re.findall(r'scope="rowgroup">([^<]*)<', grouped) == ["Bob", "gone", "Jane Doe", "Without a value"]

"""The changed values of a comparison: items of lists, pictures, words and directions."""

import html
import json
import re

import pytest

from tests.console.conftest import ConsoleScene

pytestmark = pytest.mark.one_database

FILE = "content/posts/first.md"
PICTURE = b"\x89PNG\r\n\x1a\n"


def compared(console: ConsoleScene, before: str, after: str, path: str = FILE, **files: bytes) -> str:
    """Return the comparison of two versions of a file. `files` are pictures of the later version."""
    repo = console.site.repo
    first = repo.commit({path: before.encode()})
    second = repo.commit({path: after.encode()} | {f"static/{name}.png": data for name, data in files.items()})
    shown = console.send("owner", "GET", f"/console/projects/:project_id/history/{path}?base={first}&head={second}")
    assert shown.status_code == 200
    return shown.text


def rows(shown: str) -> list[tuple[str, ...]]:
    """Return the texts of the rows of changed values."""
    table = shown[shown.index("compare-table") : shown.index("</table>")]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[2:]]
    return [tuple(" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in row) for row in cells]


def page(values: object) -> str:
    return f"---\n{json.dumps(values, ensure_ascii=False)}\n---\nText.\n"


def test_items_have_their_title_and_only_changed_fields(console: ConsoleScene) -> None:
    menu = [{"name": name, "link": f"/{name.lower()}/"} for name in ("Home", "Blog", "Shop", "Help")]
    changed = [menu[2], menu[0], menu[1] | {"link": "/news/"}, {"name": "Team", "link": "/team/"}]
    shown = rows(compared(console, page({"menu": menu}), page({"menu": changed})))
    assert shown == [
        ("Menu / Shop moved", "Position 3", "Position 1"),
        ("Menu / Blog / Link", "/ removed: blog /", "/ added: news /"),
        ("Menu / Help removed", "Name Help Link /help/", ""),
        ("Menu / Team added", "", "Name Team Link /team/"),
    ]


def test_data_file_that_is_a_list_is_compared_by_item(console: ConsoleScene) -> None:
    shown = compared(console, "- Home\n- Blog\n", "- Home\n- Shop\n", "data/menu.yaml")
    assert "Changed: Items" in shown
    assert rows(shown) == [("Items removed", "removed: Blog", ""), ("Items added", "", "added: Shop")]
    shown = compared(console, '[{"id": 1, "price": 1.5}]', '[{"id": 1, "price": 2.5}]', "data/items.json")
    assert rows(shown) == [("Items / 1 / Price", "removed: 1.5", "added: 2.5")]


def test_data_file_that_cannot_be_read_has_its_lines(console: ConsoleScene) -> None:
    shown = compared(console, "a: 1\n", "a: [1\n", "data/menu.yaml")
    assert "compare-table" not in shown
    assert '<details class="disclosure" open><summary>Changed lines' in shown


def test_long_list_is_shown_with_its_count_and_marks(console: ConsoleScene) -> None:
    tags = [str(number) for number in range(5_000)]
    before, after = page({"tags": tags}), page({"tags": [*tags[:2_500], "new", *tags[2_500:]]})
    [(label, old, new)] = rows(compared(console, before, after))
    assert (label, "5,000 entries" in old or "5000 entries" in old) == ("Tags", True)
    assert "added: new" in new
    assert len(new) < 600


def test_words_of_a_text_are_marked_with_a_text_for_screen_readers(console: ConsoleScene) -> None:
    text = "The pier is open. " * 200
    shown = compared(console, page({"intro": text}), page({"intro": text.replace("open", "closed", 1)}))
    assert '<bdi class="visually-hidden">removed: </bdi><del>open</del>' in shown
    assert '<bdi class="visually-hidden">added: </bdi><ins>closed</ins>' in shown
    [(_label, old, _new)] = rows(shown)
    assert old.endswith("…")
    assert len(old) < 300


def test_hostile_text_is_escaped(console: ConsoleScene) -> None:
    shown = compared(console, page({"title": "<b>a</b> {0} one"}), page({"title": "<b>a</b> {0} <i>two"}))
    assert "<b>a</b>" not in shown
    assert "<i>two" not in shown
    assert "&lt;b&gt;a&lt;/b&gt; {0} " in shown


def test_value_of_another_type_is_shown_as_a_whole(console: ConsoleScene) -> None:
    shown = rows(compared(console, page({"a": ["x", "y"], "b": "1"}), page({"a": "x", "b": 1})))
    assert shown == [("A", "removed: x, y", "added: x"), ("B", "removed: 1", "added: 1")]


def test_null_and_empty_values_have_a_text_and_missing_ones_have_none(console: ConsoleScene) -> None:
    before = {"a": [None, "x"], "b": "x", "c": ["", "x"], "d": ["x", {}]}
    after = {"a": ["x"], "b": None, "c": ["x"], "d": ["x"], "e": None, "f": "", "g": []}
    assert rows(compared(console, page(before), page(after))) == [
        ("A removed", "Not set", ""),
        ("B", "removed: x", "Not set"),
        ("C removed", "empty", ""),
        ("D / 2 removed", "empty", ""),
        ("E", "", "Not set"),
        ("F", "", "empty"),
        ("G", "", "empty"),
    ]


def test_numbers_of_another_notation_in_a_list_are_shown(console: ConsoleScene) -> None:
    shown = rows(compared(console, page({"a": 1, "b": [1, 2]}), page({"a": 1.0, "b": [1.0, 2]})))
    assert shown == [("A", "removed: 1", "added: 1.0"), ("B / 1.0", "removed: 1", "added: 1.0")]


def test_pictures_of_both_versions_are_shown(console: ConsoleScene) -> None:
    project, repo = console.ids["project_id"], console.site.repo
    shown = compared(console, page({"cover": "/picture.png"}), page({"cover": "/new.png"}), new=PICTURE)
    first, second = repo.text("rev-parse", "main~1").strip(), repo.text("rev-parse", "main").strip()
    urls = [
        f"/api/v1/project-content/{project}/raw?ref={sha}&amp;file=static/{name}.png"
        for sha, name in ((first, "picture"), (second, "new"))
    ]
    assert re.findall(r'<img class="compare__picture" src="([^"]*)" alt="([^"]*)"', shown) == [
        (urls[0], "Before: picture.png"),
        (urls[1], "After: new.png"),
    ]
    assert console.send("owner", "GET", html.unescape(urls[0])).data == PICTURE


def test_missing_picture_and_picture_of_another_site_are_texts(console: ConsoleScene) -> None:
    missing, other = {"cover": "/none.png"}, {"cover": "https://other.example/a.png"}
    [(_label, old, new)] = rows(compared(console, page(missing), page(other)))
    assert old == "removed: /none.png This picture does not exist."
    assert new == "added: https://other.example/a.png"


def test_pictures_of_added_items_are_shown(console: ConsoleScene) -> None:
    before, after = page({"gallery": []}), page({"gallery": [{"image": "/picture.png", "alt": "Pier"}]})
    shown = compared(console, before, after)
    assert rows(shown) == [("Gallery / Pier added", "", "Image Alt Pier")]
    assert re.search(r'<img src="[^"]*picture.png" alt="picture.png"', shown)


def test_changed_picture_has_both_versions_with_names(console: ConsoleScene) -> None:
    repo, path = console.site.repo, "static/picture.png"
    first = repo.text("rev-parse", "main").strip()
    second = repo.commit({path: PICTURE + b"\0new"})
    url = f"/console/projects/:project_id/history/{path}?base={first}&head={second}"
    texts = re.findall(r'compare__picture" src="[^"]*" alt="([^"]*)"', console.send("owner", "GET", url).text)
    assert texts == ["Before: picture.png", "After: picture.png"]
    third = repo.commit({path: None})
    shown = console.send("owner", "GET", url.replace(first, second).replace(f"head={second}", f"head={third}")).text
    assert re.findall(r'compare__picture" src="[^"]*" alt="([^"]*)"', shown) == ["Before: picture.png"]
    assert "No picture" in shown


def test_direction_follows_each_text_and_not_the_labels(console: ConsoleScene) -> None:
    body = page({"title": "שלום עולם"}) + "\nשורה\n", page({"title": "שלום לכולם"}) + "\nשורה אחרת\n"
    shown = compared(console, *body)
    assert re.search(
        r'<td class="table__value" data-label="Before" dir="auto">שלום <bdi class="visually-hidden">removed: </bdi><del>',
        shown,
    )
    assert '<div class="compare">' in shown
    assert shown.count('prose" dir="auto" role="group"') == 2
    assert '<td class="diff__text" dir="auto"><bdi class="visually-hidden">' in shown

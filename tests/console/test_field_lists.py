"""Lists of objects in the editor: their groups, and changes by buttons without scripts."""

import json
import re
from typing import Any

import pytest
import yaml
from werkzeug.datastructures import MultiDict

from app.console.files.field_lists import (
    ACTION,
    MAX_ITEMS,
    MAX_SENT,
    apply_action,
    keyed,
    named_pointer,
    plain,
    sent_orders,
    with_ids,
)
from app.console.files.field_values import changes_of
from app.console.shell.forms import Form
from app.core.errors import InvalidRequest
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

VALUES = {"title": "A", "authors": [{"name": "Ada", "age": 3}, {"name": "Bo", "links": [{"url": "/b"}]}]}
PATH = "content/posts/team.md"
FILE = b"""---
title: Team
authors:
  - name: Ada
    role: lead
  - name: Bo
    role: writer
---
Text.
"""
SCHEMA = b"""collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string}
      - name: authors
        type: list
        item:
          type: object
          fields:
            - {name: name, type: string, required: true}
            - {name: role, type: string}
"""


DECAP = b"""backend: {name: git-gateway, branch: main}
media_folder: static/img
collections:
  - name: posts
    label: Posts
    folder: content/posts
    fields:
      - {name: title, widget: string}
      - name: blocks
        widget: list
        types:
          - {name: hero, label: Large title, fields: [{name: title, widget: string}]}
          - {name: quote, fields: [{name: text, widget: text, hint: Say it in one line}]}
      - {name: body, widget: markdown}
"""
PAGE_OF_BLOCKS = b"""---
title: Team
blocks:
  - type: hero
    title: A
  - type: map # kept
    zoom: 3
    places: [{at: [1, 2]}]
---
Text.
"""


def form(**fields: str) -> Form:
    return Form(MultiDict({name.replace("__", "."): value for name, value in fields.items()}))


def inputs(order: str, **values: tuple[str, str]) -> Form:
    """Return a form of the authors with inputs by `ID/NAME`: their kinds and texts."""
    sent = MultiDict({"items.authors": order})
    for name, (kind, text) in values.items():
        path = "authors/" + name.replace("_", "/")
        sent |= {f"kind.{path}": kind, f"fm.{path}": text}
    return Form(sent)


class TestChanges:
    def changed(self, sent: Form) -> Any:
        return changes_of(VALUES, sent).values

    def test_unchanged_list_is_not_written(self) -> None:
        sent = inputs("0,1", **{"0_name": ("text", "Ada"), "0_age": ("number", "3"), "1_name": ("text", "Bo")})
        assert self.changed(sent) == {}

    def test_edited_item_keeps_the_others(self) -> None:
        sent = inputs("0,1", **{"0_name": ("text", "Ada"), "0_age": ("number", "4"), "1_name": ("text", "Bo")})
        assert self.changed(sent) == {"authors": [{"name": "Ada", "age": 4}, VALUES["authors"][1]]}

    def test_order_adds_moves_and_removes_items(self) -> None:
        sent = inputs("n0,1", n0_name=("text", "Cy"), **{"1_name": ("text", "Bo")})
        assert self.changed(sent) == {"authors": [{"name": "Cy"}, VALUES["authors"][1]]}

    def test_empty_added_item_is_not_written(self) -> None:
        sent = inputs(
            "0,1,n0",
            **{"0_name": ("text", "Ada"), "0_age": ("number", "3"), "1_name": ("text", "Bo"), "n0_name": ("text", "")},
        )
        assert self.changed(sent) == {}

    def test_list_without_items_is_empty(self) -> None:
        assert self.changed(inputs("")) == {"authors": []}
        assert changes_of({"title": "A"}, inputs("")).values == {}

    def test_item_of_a_form_that_names_it_as_replaced_has_no_other_value(self) -> None:
        sent = inputs("0", **{"0_name": ("text", "Cy"), "0": ("object", "")})
        assert self.changed(sent) == {"authors": [{"name": "Cy"}]}

    @pytest.mark.parametrize("names", [(), ("0/name",), ("1/name",), ("0/name", "0/age", "1/links/0/url")])
    def test_value_without_an_input_is_kept(self, names: tuple[str, ...]) -> None:
        complete = inputs("0,1", **{"0_name": ("text", "Ada"), "0_age": ("number", "3"), "1_name": ("text", "Bo")})
        sent = Form(MultiDict({"items.authors": "0,1"}))
        sent.values.update(
            {key: text for key, text in complete.values.items() if key.partition("authors/")[2] in names}
        )
        assert changes_of(VALUES, sent).values == {}
        moved = Form(MultiDict({**sent.values, "items.authors": "1,0"}))
        assert changes_of(VALUES, moved).values == {"authors": [VALUES["authors"][1], VALUES["authors"][0]]}

    @pytest.mark.parametrize("lists", [(), ("authors",)])
    def test_inputs_without_their_list_are_refused_with_the_path(self, lists: tuple[str, ...]) -> None:
        sent = inputs("0,1", **{"1_links_0_url": ("text", "/c")})
        sent.values = MultiDict({**sent.values, "items.authors/1/links": "0"})
        for hidden in [hidden for hidden in sent.values if hidden.startswith("items.")]:
            if hidden.removeprefix("items.") not in lists:
                del sent.values[hidden]
        with pytest.raises(InvalidRequest) as raised:
            changes_of(VALUES, sent)
        assert [one.path for one in raised.value.fields] == ["fm.authors/1/links/0/url"]
        assert "“authors/1/links/0/url”" in raised.value.message

    def test_inputs_of_a_removed_item_do_not_add_it(self) -> None:
        sent = inputs("1", **{"0_name": ("text", "Cy"), "1_name": ("text", "Bo")})
        assert self.changed(sent) == {"authors": [VALUES["authors"][1]]}

    @pytest.mark.parametrize("order", ["9", "x", "0,0", "-1", "0;1", "../1"])
    def test_unknown_ids_are_ignored(self, order: str) -> None:
        changed = self.changed(inputs(order, **{"0_name": ("text", "Ada"), "0_age": ("number", "3")}))
        assert all(item == VALUES["authors"][0] for item in changed["authors"])

    def test_order_of_another_value_is_ignored(self) -> None:
        assert changes_of({"title": "A"}, form(items__title="0,1")).values == {}

    def test_nested_list_is_changed(self) -> None:
        sent = inputs(
            "1", **{"1_name": ("text", "Bo"), "1_links_n0_url": ("text", "/c"), "1_links_0_url": ("text", "/b")}
        )
        sent.values["items.authors/1/links"] = "n0,0"
        assert self.changed(sent) == {"authors": [{"name": "Bo", "links": [{"url": "/c"}, {"url": "/b"}]}]}


@pytest.mark.parametrize(
    ("action", "order"),
    [
        ("add authors", "0,1,n0"),
        ("up authors/1", "1,0"),
        ("down authors/0", "1,0"),
        ("up authors/0", "0,1"),
        ("down authors/1", "0,1"),
        ("remove authors/0", "1"),
        ("remove authors/7", "0,1"),
        ("remove title", "0,1"),
        ("explode authors/0", "0,1"),
        ("", "0,1"),
    ],
)
def test_button_changes_the_order(action: str, order: str) -> None:
    sent = Form(MultiDict({"items.authors": "0,1", ACTION: action}))
    apply_action(sent)
    assert sent.text("items.authors") == order


def test_button_of_a_variant_adds_an_item_with_its_key() -> None:
    sent = Form(MultiDict({"items.blocks": "0", ACTION: "add blocks/type/hero"}))
    apply_action(sent)
    assert sent.text("items.blocks") == "0,n0"
    assert (sent.text("kind.blocks/n0/type"), sent.text("fm.blocks/n0/type")) == ("text", "hero")
    assert changes_of({"blocks": [{}]}, sent).values == {"blocks": [{}, {"type": "hero"}]}


def test_copy_has_the_values_of_its_original_and_the_inputs_that_changed() -> None:
    base = {"people": [{"name": "Ada", "at": "2026-05-27T10:30:00Z", "links": [{"url": "/a"}]}, {"name": "Bo"}]}
    sent = Form(
        MultiDict(
            {"items.people": "0,1", "items.people/0/links": "0", "kind.people/0/name": "text"}
            | {"fm.people/0/name": "Eve", "kind.people/0/at": "datetime", "fm.people/0/at": "2026-05-27T10:30:00"}
            | {ACTION: "copy people/0"}
        )
    )
    apply_action(sent)
    assert (sent.text("items.people"), sent.text("items.people/n0-0/links")) == ("0,n0-0,1", "0")
    eve = base["people"][0] | {"name": "Eve"}
    assert changes_of(base, sent).values == {"people": [eve, eve, {"name": "Bo"}]}
    sent.values[ACTION] = "copy people/n0-0"
    apply_action(sent)
    sent.values[ACTION] = "before people/1"
    apply_action(sent)
    assert sent.text("items.people") == "0,n0-0,n1-0,n2,1"
    for name, value in (("kind.people/n2/name", "text"), ("fm.people/n2/name", "Flo"), ("fm.people/n1-0/name", "Gus")):
        sent.values[name] = value
    sent.values[ACTION] = "copy people/n2"
    apply_action(sent)
    names = [person["name"] for person in changes_of(base, sent).values["people"]]  # type: ignore[attr-defined]
    assert names == ["Eve", "Eve", "Gus", "Flo", "Flo", "Bo"]


def test_item_is_inserted_before_another_one_with_the_key_of_its_variant() -> None:
    sent = Form(MultiDict({"items.blocks": "0,1", "items.blocks/1/links": "0", ACTION: "before blocks/1/type/hero"}))
    apply_action(sent)
    assert (sent.text("items.blocks"), sent.text("fm.blocks/n0/type")) == ("0,n0,1", "hero")
    sent.values[ACTION] = "before blocks/1/links/0"
    apply_action(sent)
    assert (sent.text("items.blocks"), sent.text("items.blocks/1/links")) == ("0,n0,1", "n0,0")


@pytest.mark.parametrize("action", ["add x", "before x/3", "copy x/3", "before x/none", "copy y/0"])
def test_full_list_and_missing_item_do_not_change(action: str) -> None:
    ids = ",".join(map(str, range(MAX_ITEMS)))
    sent = Form(MultiDict({"items.x": ids, ACTION: action}))
    apply_action(sent)
    assert sent.text("items.x") == ids


@pytest.mark.parametrize("verb", ["add", "before", "copy", "open"])
def test_button_that_adds_inputs_to_a_large_form_is_refused(verb: str) -> None:
    sent = Form(MultiDict({"items.authors": "0,1", ACTION: f"{verb} authors"}))
    apply_action(sent)
    sent.values |= {f"fm.{number}": "" for number in range(MAX_SENT)}
    with pytest.raises(InvalidRequest):
        apply_action(sent)


def test_pointer_is_the_name_of_an_input() -> None:
    sent = form(items__authors="1,n0")
    assert named_pointer("/authors/1/name", sent) == "authors/n0/name"
    assert named_pointer("/title", sent) == "title"


@pytest.mark.parametrize(
    ("items", "ids"),
    [
        ([{"a": 1, "b": 1}, {"a": 2, "b": 2}], "0 1"),
        ([{"a": 2, "b": 2}, {"a": 1, "b": 1}], "1 0"),
        ([{"a": 9}, {"a": 1, "b": 1}, {"a": 2, "b": 3}], "n0 0 1"),
        ([{"a": 9}], "0"),
        ([{"a": 2, "b": 2}, {"a": 2, "b": 2}], "1 0"),
        ([], ""),
    ],
)
def test_items_of_a_draft_have_the_ids_of_those_of_the_file(items: list[Any], ids: str) -> None:
    shown: Any = with_ids({"x": items}, {"x": [{"a": 1, "b": 1}, {"a": 2, "b": 2}]})
    assert list(shown["x"]) == ids.split()
    assert plain(shown["x"]) == items


def test_many_changed_items_of_a_draft_follow_in_their_order() -> None:
    present = [{"a": at, "b": 1} for at in range(MAX_ITEMS)]
    shown: Any = with_ids(
        {"x": [{"a": -1, "b": 1}, present[5], *present[1:5], *({"b": 2} for _ in range(900))]}, {"x": present}
    )
    assert list(shown["x"])[:8] == ["0", "5", "1", "2", "3", "4", "6", "7"]


def test_copies_of_an_anchored_value_are_changed_apart() -> None:
    ada: dict[str, object] = {"name": "Ada"}
    sent = form(items__x="0,1")
    sent.values |= {
        "kind.x/0/name": "text",
        "fm.x/0/name": "Eve",
        "kind.x/1/boss/name": "text",
        "fm.x/1/boss/name": "Ada",
    }
    assert changes_of({"x": [ada, {"boss": ada}]}, sent).values == {"x": [{"name": "Eve"}, {"boss": {"name": "Ada"}}]}


def test_keyed_values_are_plain_again() -> None:
    sent = form(items__authors="0,1")
    sent.values |= {f"kind.authors/{name}": "text" for name in ("0/name", "0/age", "1/name")}
    assert plain(keyed(VALUES, sent)) == VALUES
    assert list(sent_orders(sent)) == [("authors",)]


class TestEditor:
    def url(self, console: ConsoleScene) -> str:
        return f"/console/projects/{console.ids['project_id']}/edit/{PATH}"

    def press(self, console: ConsoleScene, page: Any, action: str, **fields: str) -> Any:
        sent = form_of(page, 'id="editor-form"') | fields | {ACTION: action}
        answer = submit(console.site.owner, self.url(console), **sent)
        assert answer.status_code == 200
        return answer

    def names(self, page: Any) -> list[str]:
        fields = form_of(page, 'id="editor-form"')
        return [fields[f"fm.authors/{one}/name"] for one in fields["items.authors"].split(",")]

    @pytest.mark.parametrize("schema", [None, SCHEMA])
    def test_buttons_add_move_and_remove_items_and_save_writes_them(
        self, console: ConsoleScene, schema: bytes | None
    ) -> None:
        owner = console.site.owner
        console.site.repo.commit({PATH: FILE} | ({".galley.yml": schema} if schema else {}))
        owner.post(console.site.path("/reindex")).ok(202)
        console.site.world.work_off()
        page = owner.client.get(self.url(console))
        before = console.site.repo.head()
        page = self.press(console, page, "add authors")
        page = self.press(console, page, "up authors/n0", **{"fm.authors/n0/name": "Cy"})
        page = self.press(console, page, "remove authors/0")
        assert console.site.repo.head() == before
        assert self.names(page) == ["Cy", "Bo"]
        assert "You see your draft." in owner.client.get(self.url(console)).text
        sent = form_of(page, 'id="editor-form"')
        assert submit(owner, self.url(console), **sent).status_code == 303
        saved = console.site.repo.show(PATH).decode()
        assert saved == "---\ntitle: Team\nauthors:\n  - name: Cy\n  - name: Bo\n    role: writer\n---\nText.\n"

    def test_invalid_item_is_reported_at_its_input(self, console: ConsoleScene) -> None:
        owner = console.site.owner
        console.site.repo.commit({PATH: FILE, ".galley.yml": SCHEMA})
        owner.post(console.site.path("/reindex")).ok(202)
        console.site.world.work_off()
        page = self.press(console, owner.client.get(self.url(console)), "add authors")
        sent = form_of(page, 'id="editor-form"') | {"fm.authors/n0/role": "guest", "items.authors": "n0,0,1"}
        refused = submit(owner, self.url(console), **sent)
        assert refused.status_code == 400
        assert 'id="fm.authors/n0/name-error"' in refused.text
        label = '<a href="#fm.authors/n0/name">Authors 1 › Name</a>: This field is required'
        assert label in refused.text
        assert self.names(refused) == ["", "Ada", "Bo"]

    def test_variants_are_added_and_unknown_ones_keep_their_values(self, console: ConsoleScene) -> None:
        owner = console.site.owner
        console.site.repo.commit({PATH: PAGE_OF_BLOCKS, "static/admin/config.yml": DECAP})
        owner.post(console.site.path("/reindex")).ok(202)
        console.site.world.work_off()
        page = owner.client.get(self.url(console))
        assert [one in page.text for one in ("Add Large title", "Add Quote")] == [True, True]
        page = self.press(console, page, "add blocks/type/quote")
        assert "Say it in one line" in page.text
        sent = form_of(page, 'id="editor-form"')
        refused = submit(owner, self.url(console), **sent)
        assert 'id="fm.blocks/n0/text-error"' in refused.text
        self.press(console, page, "up blocks/n0")
        sent = form_of(owner.client.get(self.url(console)), 'id="editor-form"')
        assert sent["items.blocks"] == "0,n1,1"  # the items of the draft have the ids of those of the file
        sent |= {"fm.blocks/n1/text": "Sail", "fm.blocks/0/title": "Changed"}
        assert submit(owner, self.url(console), **sent).status_code == 303
        assert console.site.repo.show(PATH).decode() == (
            "---\ntitle: Team\nblocks:\n  - type: hero\n    title: Changed\n  - type: quote\n    text: Sail\n"
            "  - type: map # kept\n    zoom: 3\n    places: [{at: [1, 2]}]\n---\nText.\n"
        )

    def test_data_file_is_edited_as_fields_and_keeps_its_comments(self, console: ConsoleScene) -> None:
        owner, path = console.site.owner, "data/team.yaml"
        data = b"# People\n- name: Ada  # founder\n  links: [{url: /a}]\n- name: Bo\n"
        console.site.repo.commit({path: data})
        url = self.url(console).replace(PATH, path)
        page = owner.client.get(url)
        assert 'name="body"' not in page.text
        sent = form_of(page, 'id="editor-form"') | {"fm.items/1/name": "Cy", "fm.items/0/links/0/url": "/b"}
        added = submit(owner, url, **sent | {ACTION: "add items"})
        sent = form_of(added, 'id="editor-form"') | {"fm.items/n0/name": "Di"}
        assert submit(owner, url, **sent).status_code == 303
        assert console.site.repo.show(path).decode() == (
            "# People\n- name: Ada  # founder\n  links: [{url: /b}]\n- name: Cy\n- name: Di\n"
        )
        source = owner.client.get(f"{url}?mode=source")
        sent = form_of(source, 'id="editor-form"')
        shown = sent["body"].replace("\r\n", "\n")
        assert (shown, "fm.items/0/name" in sent) == (console.site.repo.show(path).decode(), False)
        assert submit(owner, url, **sent | {"body": "- name: Eve\r\n"}).status_code == 303
        assert console.site.repo.show(path) == b"- name: Eve\n"
        console.site.repo.commit({path: b"a: 1\n---\nb: 2\n"})
        shown = owner.client.get(url).text
        assert 'name="body"' in shown
        assert "This file is too large or too irregular to be shown as fields." in shown

    @pytest.mark.parametrize(
        ("path", "data"),
        [
            ("data/events.yaml", "- at: 2026-05-27 10:30:00 +02:00\n  on: '2026-05-27'\n- name: x\n"),
            (
                "data/events.toml",
                "[[items]]\nat = 2026-05-27 10:30:00+02:00\non = '2026-05-27'\n" + "[[items]]\nname = 'x'\n",
            ),
        ],
    )
    def test_dates_without_a_schema_keep_their_notation(self, console: ConsoleScene, path: str, data: str) -> None:
        owner, url = console.site.owner, self.url(console).replace(PATH, path)
        console.site.repo.commit({path: data.encode()})
        sent = form_of(owner.client.get(url), 'id="editor-form"')
        assert submit(owner, url, **sent).location.endswith("done=unchanged")
        sent |= {"fm.items/0/at": "2027-01-02T10:30:00", "fm.items/0/on": "2027-01-02", "fm.items/1/on": "2027-01-03"}
        assert "done=saved" in submit(owner, url, **sent).location
        shown = console.site.repo.show(path).decode()
        assert shown.startswith(data.replace("2026-05-27", "2027-01-02").rstrip("\n"))
        assert shown.endswith((": 2027-01-03\n", " = 2027-01-03\n"))

    def test_missing_value_has_the_type_of_other_items(self, console: ConsoleScene) -> None:
        owner, path = console.site.owner, "data/all.yaml"
        url = self.url(console).replace(PATH, path)
        first = "- {name: A, on: true, size: 1.5, tags: [x], seo: {index: false}, people: [{name: P, chief: true}]}\n"
        console.site.repo.commit({path: f"{first}- name: B\n".encode()})
        sent = form_of(owner.client.get(url), 'id="editor-form"')
        assert submit(owner, url, **sent).location.endswith("done=unchanged")
        sent = form_of(self.press_at(console, url, sent, "add items/1/people"), 'id="editor-form"')
        assert submit(owner, url, **sent | {"fm.items/1/size": "large"}).status_code == 400
        sent |= {"fm.items/1/on": "true", "fm.items/1/size": "2", "fm.items/1/tags": "y\nz"}
        sent |= {"fm.items/1/seo/index": "true", "fm.items/1/people/n0/chief": "true"}
        assert "done=saved" in submit(owner, url, **sent).location
        shown = console.site.repo.show(path).decode()
        assert shown.startswith(first)
        values = {"on": True, "size": 2, "tags": ["y", "z"], "seo": {"index": True}, "people": [{"chief": True}]}
        assert yaml.safe_load(shown)[1] == {"name": "B"} | values

    @pytest.mark.parametrize("path", ["data/vendors.yaml", "data/vendors.json", "data/vendors.toml"])
    @pytest.mark.parametrize("number", [105, 600])
    def test_long_list_has_inputs_of_open_entries_and_a_save_changes_only_their_bytes(
        self, console: ConsoleScene, path: str, number: int
    ) -> None:
        owner, url = console.site.owner, self.url(console).replace(PATH, path)
        names = ("name", "home", "oss", "free", "email", "note") if number == 105 else ("name", "home")
        items = [{name: f"{name} {at}" for name in names} for at in range(number)]
        data = {
            "yaml": "".join(
                "- " + "\n  ".join(f"{key}: '{value}'" for key, value in item.items()) + "\n" for item in items
            ),
            "json": "[\n" + ",\n".join(f"  {json.dumps(item)}" for item in items) + "\n]\n",
            "toml": "".join(
                "[[vendors]]\n" + "".join(f"{k} = '{v}'\n" for k, v in item.items()) for item in items[:40]
            ),
        }[path.rpartition(".")[2]]
        key = "vendors" if path.endswith("toml") else "items"
        console.site.repo.commit({path: data.encode()})
        page = owner.client.get(url)
        sent = form_of(page, 'id="editor-form"')
        is_closed = key == "items"
        assert (f"fm.{key}/7/name" in sent, "data-closed" in page.text) == (not is_closed, is_closed)
        assert "name 7 · home 7" in page.text
        if is_closed:
            opened = self.press_at(console, url, sent, f"open {key}/7")
            assert 'data-item="7" open' in opened.text
            sent = form_of(opened, 'id="editor-form"')
            opened = self.press_at(console, url, sent | {f"fm.{key}/7/name": "New"}, f"open {key}/20")
            sent = form_of(opened, 'id="editor-form"')
            assert sent[f"fm.{key}/20/name"] == "name 20"
            drafted = form_of(owner.client.get(url), 'id="editor-form"')
            assert (drafted[f"fm.{key}/7/name"], f"fm.{key}/20/name" in drafted) == ("New", False)
        assert len(sent) < 900
        answer = submit(owner, url, **sent | {f"fm.{key}/7/name": "New"})
        assert "done=saved" in answer.location
        assert console.site.repo.show(path).decode() == re.sub(r"\bname 7\b", "New", data)

    def press_at(self, console: ConsoleScene, url: str, sent: dict[str, Any], action: str) -> Any:
        answer = submit(console.site.owner, url, **sent | {ACTION: action})
        assert answer.status_code == 200
        return answer

    @pytest.mark.parametrize(
        ("path", "data"),
        [
            ("data/many.yaml", "- a: 1\n" * 1001),
            ("data/mixed.yaml", "- a: 1\n- 2\n"),
            ("data/wide.json", json.dumps([{f"{number}": 1 for number in range(600)}])),
            ("data/long.toml", "".join(f"[[x]]\na = 'text {number}'\n" for number in range(600))),
        ],
    )
    def test_list_that_is_too_large_or_irregular_is_shown_as_text(
        self, console: ConsoleScene, path: str, data: str
    ) -> None:
        console.site.repo.commit({path: data.encode()})
        page = console.site.owner.client.get(self.url(console).replace(PATH, path))
        sent = form_of(page, 'id="editor-form"')
        assert sent["body"].replace("\r\n", "\n").strip() == data.strip()
        assert [name for name in sent if name.startswith("kind.")] == []
        assert "This file is too large or too irregular to be shown as fields." in page.text

    def test_page_without_changes_is_not_written(self, console: ConsoleScene) -> None:
        console.site.repo.commit({PATH: FILE})
        before = console.site.repo.head()
        sent = form_of(console.site.owner.client.get(self.url(console)), 'id="editor-form"')
        assert submit(console.site.owner, self.url(console), **sent).location.endswith("done=unchanged")
        assert console.site.repo.head() == before


@pytest.mark.parametrize(
    "front",
    [
        "o: [{p: 1}, {p: 2}]",
        "title: A",
        "o: {}",
        "o: {p: x}",
        "l: [{r: a}]",
        "o:\n",
    ],
)
def test_save_without_an_edit_adds_no_list_and_keeps_a_list_in_the_place_of_an_object(
    console: ConsoleScene, front: str
) -> None:
    inner = "[{name: p, type: string}, {name: q, type: list, item: {type: object, fields: [{name: r, type: string}]}}]"
    schema = f"""collections:
  - name: posts
    folder: content/posts
    fields:
      - {{name: o, type: object, fields: {inner}}}
      - name: l
        type: list
        item: {{type: object, fields: [{{name: r, type: string}}, {{name: o, type: object, fields: {inner}}}]}}
"""
    console.site.repo.commit({".galley.yml": schema.encode(), PATH: f"---\n{front}\n---\nText.\n".encode()})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    url = f"/console/projects/{console.site.project}/edit/{PATH}"
    sent = form_of(console.site.owner.client.get(url), "editor-form")
    assert submit(console.site.owner, url, **sent).location.endswith("done=unchanged")

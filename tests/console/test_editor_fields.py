"""Tests of the fields of the editor from a schema file or from the values. Plain git verifies the changes of a save."""

import re

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import diff, form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

FILE = "content/posts/typed.md"
SCHEMA = b"""
collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string, label: Headline, required: true}
      - {name: summary, type: text, default: No summary}
      - {name: weight, type: number}
      - {name: date, type: date}
      - {name: at, type: datetime}
      - {name: featured, type: boolean, default: true}
      - {name: kind, type: select, options: [note, essay]}
      - {name: topics, type: select, multiple: true, options: [sea, land, air]}
      - {name: cover, type: image}
      - {name: next, type: relation, collection: posts}
      - {name: tags, type: list}
      - name: seo
        type: object
        fields:
          - {name: description, type: text}
          - {name: index, type: boolean}
"""
PAGE = b"""---
# A comment stays.
title: "Tides"
weight: 7
at: 2026-05-27 10:30:00 +02:00
kind: poem
topics: [land]
tags:
  - one
seo:
  description: "Old"   # kept
extra: [1, {a: b}]
---
Text.
"""


@pytest.fixture
def scene(console: ConsoleScene) -> ConsoleScene:
    """Return the scene with a schema and a page of its collection."""
    files = {".galley.yml": SCHEMA, FILE: PAGE, "static/img/pier.png": b"\x89PNG\r\n\x1a\n"}
    console.site.repo.commit(files)
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    return console


def url_of(scene: ConsoleScene, path: str = FILE) -> str:
    return f"/console/projects/{scene.ids['project_id']}/edit/{path}"


def test_fields_have_the_types_and_labels_of_the_schema(scene: ConsoleScene) -> None:
    page = scene.site.owner.client.get(url_of(scene)).text
    for part in (
        'for="fm.title">Headline <span class="field__mark">(required)</span>',
        'type="date" id="fm.date"',
        'type="datetime-local" id="fm.at"',
        'value="2026-05-27T10:30:00"',
        "Time zone: <bdi>GMT+02:00</bdi>",
        '<span class="without-script">One entry per line</span>',
        "Without a value: No summary",
        '<option value="&#34;poem&#34;" selected>poem</option>',
        "The site does not expect this value.",
        'value="&#34;land&#34;" checked',
        '<option value="&#34;second&#34;">second</option>',
        '<span class="group__name">SEO</span> <span class="group__values muted" dir="auto">Old</span>',
        'name="fm.seo/description"',
    ):
        assert part in page


def test_save_without_an_edit_changes_nothing(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form")
    head = scene.site.repo.head()
    sent |= {"fm.kind": '"poem"', "fm.topics": '"land"', "fm.featured": ""}
    assert submit(scene.site.owner, url_of(scene), **sent).location.endswith("done=unchanged")
    assert scene.site.repo.head() == head


def test_save_writes_each_type_and_keeps_other_lines(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form")
    edits = {
        "fm.weight": "8.5",
        "fm.date": "2026-06-01",
        "fm.at": "2026-05-28T09:00",
        "fm.featured": "false",
        "fm.kind": '"essay"',
        "fm.topics": ['"air"', '"land"'],
        "fm.cover": "/img/pier.png",
        "fm.tags": "one\r\ntwo",
        "fm.seo/description": "New",
        "fm.seo/index": "1",
    }
    assert "&done=saved&" in submit(scene.site.owner, url_of(scene), **sent | edits).location
    text = scene.site.repo.show(FILE).decode()
    assert text == (
        '---\n# A comment stays.\ntitle: "Tides"\nweight: 8.5\nat: 2026-05-28 09:00:00 +02:00\nkind: essay\n'
        "topics: [land, air]\ntags:\n  - one\n  - two\nseo:\n"
        '  description: "New"   # kept\n  index: true\nextra: [1, {a: b}]\n'
        "date: 2026-06-01\nfeatured: false\ncover: /img/pier.png\n---\nText.\n"
    )
    shown = scene.site.owner.client.get(url_of(scene)).text
    assert "raw?file=static/img/pier.png" in shown


def test_emptied_optional_texts_and_images_are_removed(scene: ConsoleScene) -> None:
    added = b"summary: Old\ncover: /img/pier.png\nnote: other\ntopics:"
    scene.site.repo.commit({FILE: PAGE.replace(b"topics:", added).replace(b"   # kept", b"\n  index: true")})
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form")
    sent |= {"fm.summary": "", "fm.cover": "", "fm.seo/description": "", "fm.note": ""}
    assert "&done=saved&" in submit(scene.site.owner, url_of(scene), **sent).location
    removed = ["-summary: Old", "-cover: /img/pier.png", '-  description: "Old"']
    assert diff(scene.site) == [*removed[:2], "-note: other", '+note: ""', removed[2]]


def test_emptied_text_with_a_comment_stays_with_an_empty_text(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form") | {"fm.seo/description": ""}
    assert "&done=saved&" in submit(scene.site.owner, url_of(scene), **sent).location
    assert diff(scene.site) == ['-  description: "Old"   # kept', '+  description: ""   # kept']


def test_emptied_number_and_select_are_removed(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form")
    sent |= {"fm.kind": "", "fm.topics": '"land"', "fm.featured": "", "fm.weight": ""}
    assert "&done=saved&" in submit(scene.site.owner, url_of(scene), **sent).location
    assert diff(scene.site) == ["-weight: 7", "-kind: poem"]


def test_changed_value_that_does_not_match_is_refused_with_its_text(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form") | {"fm.kind": '"poem"'}
    head = scene.site.repo.head()
    for edit, message in (
        ({"fm.title": ""}, "This field is required"),
        ({"fm.weight": "seven"}, "Enter a number."),
        ({"fm.date": "tomorrow"}, "Enter a date."),
        ({"fm.at": "2026-13-40T10:00"}, "Enter a date with a time."),
        ({"fm.kind": '"ode"'}, "This must be one of note, essay"),
        ({"kind.weight": "unknown"}, "Some fields need a correction"),
    ):
        refused = submit(scene.site.owner, url_of(scene), **sent | edit)
        assert refused.status_code == 400
        assert message in refused.text
        assert scene.site.repo.head() == head
    assert 'value="seven"' in submit(scene.site.owner, url_of(scene), **sent | {"fm.weight": "seven"}).text


def test_draft_accepts_a_value_that_does_not_match_the_schema(scene: ConsoleScene) -> None:
    sent = form_of(scene.site.owner.client.get(url_of(scene)), "editor-form") | {"fm.kind": '"ode"'}
    draft = url_of(scene).replace("/edit/", "/draft/")
    assert submit(scene.site.owner, draft, **sent).status_code == 204
    assert '<option value="&#34;ode&#34;" selected>ode</option>' in scene.site.owner.client.get(url_of(scene)).text


def test_fields_without_a_schema_follow_the_values_and_the_usual_names(console: ConsoleScene) -> None:
    page = console.site.owner.client.get(url_of(console, "content/posts/first.md")).text
    assert 'type="date" id="fm.date"' in page
    assert 'role="switch" id="fm.draft"' in page
    assert "does not expect this value" not in page


def test_image_field_offers_the_images_of_the_repository(console: ConsoleScene) -> None:
    schema = (
        b"collections:\n  - name: posts\n    folder: content/posts\n    fields:\n      - {name: cover, type: image}\n"
    )
    console.site.repo.commit({".galley.yml": schema})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    url = f"/console/projects/{console.ids['project_id']}/edit/content/posts/first.md"
    shown = console.site.owner.client.get(url).text
    assert '<datalist id="image-names"><option value="/picture.png"></datalist>' in shown
    assert 'list="image-names"' in shown
    assert 'data-image-field="cover"' in shown
    assert 'type="file" name="image.cover"' in shown


NOTATIONS = b"""---
title: Notations
utc: 2024-10-31T20:57:00.000Z
jekyll: 2024-10-31 20:57:00 -0500
short: 2024-12-09T21:25
day: 2024-03-15
quoted: '2024-10-31T20:57:00+09:00'
published: yes
comments: on
zip: 02134
version: 1.10
links:
  - name: A
    url: /a
  - {}
  - name: B
    url:
---
Text
"""


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("utc", "2024-11-01T20:57", "utc: 2024-11-01T20:57:00.000Z"),
        ("jekyll", "2024-11-01T20:57:00", "jekyll: 2024-11-01 20:57:00 -0500"),
        ("short", "2024-12-10T21:25", "short: 2024-12-10T21:25"),
        ("published", "no", "published: no"),
        ("comments", "off", "comments: off"),
        ("zip", "02135", "zip: 02135"),
        ("version", "1.20", "version: 1.20"),
        ("version", "1.1", "version: 1.1"),
        ("title", "Changed", "title: Changed"),
    ],
)
def test_changed_field_keeps_the_notation_and_the_other_lines(
    console: ConsoleScene, name: str, value: str, line: str
) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    path = "content/notes/notations.md"
    site.repo.commit({path: NOTATIONS})
    sent = form_of(site.owner.client.get(f"{base}/edit/{path}"), "editor-form")
    shown = next(one for one in NOTATIONS.decode().splitlines() if one.startswith(f"{name}: "))
    text = f"{name}: {sent[f'fm.{name}']}"
    assert shown.replace(" ", "T").startswith(text.replace(" ", "T"))  # The input of a date has no offset.
    assert "&done=saved&" in submit(site.owner, f"{base}/edit/{path}", **sent | {f"fm.{name}": value}).location
    assert diff(site) == [f"-{shown}", f"+{line}"]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "UTC"])
@pytest.mark.parametrize("has_schema", [True, False])
def test_days_and_times_are_the_same_in_every_zone(console: ConsoleScene, zone: str, has_schema: bool) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    path = "content/posts/typed.md"
    fields = b"[{name: day, type: date}, {name: quoted, type: datetime}, {name: utc, type: datetime}]"
    schema = b"collections:\n  - {name: posts, folder: content/posts, fields: %s}\n" % fields
    site.repo.commit({path: NOTATIONS} | ({".galley.yml": schema} if has_schema else {}))
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    preferences = {"theme": "system", "language": "en", "timezone": zone}
    assert submit(site.owner, "/console/account/preferences", **preferences).status_code == 303
    sent = form_of(site.owner.client.get(f"{base}/edit/{path}"), "editor-form")
    assert sent["fm.day"] == "2024-03-15"
    assert sent["fm.quoted"].startswith("2024-10-31T20:57")
    edits = {"fm.day": "2024-03-16", "fm.quoted": sent["fm.quoted"].replace("10-31", "11-01")}
    assert "&done=saved&" in submit(site.owner, f"{base}/edit/{path}", **sent | edits).location
    assert [line for line in diff(site) if line[0] == "+"] == [
        "+day: 2024-03-16",
        "+quoted: '2024-11-01T20:57:00+09:00'",
    ]


def test_day_of_a_time_with_a_schema_keeps_the_notation(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    path = "content/posts/typed.md"
    schema = b"collections:\n  - {name: posts, folder: content/posts, fields: [%s]}\n" % b", ".join(
        b"{name: %s, type: datetime}" % name for name in (b"utc", b"jekyll", b"short")
    )
    site.repo.commit({path: NOTATIONS, ".galley.yml": schema})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    sent = form_of(site.owner.client.get(f"{base}/edit/{path}"), "editor-form")
    # A browser sends the shortest form of a time.
    days = {"fm.utc": "2024-11-01T20:57", "fm.jekyll": "2024-11-01T20:57", "fm.short": "2024-12-10T21:25"}
    assert "&done=saved&" in submit(site.owner, f"{base}/edit/{path}", **sent | days).location
    assert [line for line in diff(site) if line[0] == "+"] == [
        "+utc: 2024-11-01T20:57:00.000Z",
        "+jekyll: 2024-11-01 20:57:00 -0500",
        "+short: 2024-12-10T21:25",
    ]


def test_new_date_takes_the_most_frequent_notation_of_the_folder(console: ConsoleScene) -> None:
    site = console.site
    dates = ["2014-03-12 10:11:00 -0400", "2015-03-12 10:11:00 -0500", "2016-03-12", "2017-03-12T10:11:00Z", "soon"]
    pages = {f"_posts/{n}.md": f"---\ntitle: P{n}\nday: {text}\n---\n".encode() for n, text in enumerate(dates)}
    site.repo.commit(pages | {"_posts/new.md": b"---\ntitle: New\n---\n"})
    schema = b"collections: [{name: posts, folder: _posts, fields: [{name: day, type: datetime}]}]\n"
    site.repo.commit({".galley.yml": schema})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    url = url_of(console, "_posts/new.md")
    page = site.owner.client.get(url)
    assert 'type="hidden" name="notation.day" value="2014-03-12 10:11:00 -0400"' in page.text
    sent = form_of(page, "editor-form") | {"fm.day": "2026-01-02T03:04"}
    assert "&done=saved&" in submit(site.owner, url, **sent).location
    assert diff(site) == ["+day: 2026-01-02 03:04:00 +0000"]
    assert "This value is not a date." in site.owner.client.get(url_of(console, "_posts/4.md")).text
    schema = b"collections: [{name: posts, folder: _posts, fields: [{name: date, type: datetime}]}]\n"
    site.repo.commit({".galley.yml": schema, **{p: text.replace(b"day:", b"date:") for p, text in pages.items()}})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    created = submit(site.owner, f"/console/projects/{console.ids['project_id']}/new/posts", title="Next")
    draft = site.owner.client.get(created.location).text
    assert re.search(r'name="start" value="---\ndate: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000\n---', draft)


FRONT_MATTER_CMS = """{
  "frontMatter.content.draftField": %s,
  "frontMatter.content.pageFolders": [{"title": "news", "path": "news"}],
  "frontMatter.taxonomy.contentTypes": [{"name": "default", "fields": [
    {"name": "title", "type": "string"}, {"name": "%s", "type": "draft"}]}]
}"""


@pytest.mark.parametrize(
    ("config", "name", "draft", "public", "edit"),
    [
        (None, "draft", "true", "false", {}),
        (None, "published", "false", "true", {"fm.published": "1"}),
        ('{"name": "live", "type": "boolean", "invert": true}', "live", "false", "true", {"fm.live": "1"}),
        ('{"name": "hidden", "type": "boolean"}', "hidden", "true", "false", {}),
        (
            '{"name": "state", "type": "choice", "choices": ["draft", "in progress", "published"]}',
            "state",
            "in progress",
            "published",
            {"fm.state": '"published"'},
        ),
    ],
)
def test_draft_state_is_equal_in_lists_filters_and_editor(
    console: ConsoleScene, config: str | None, name: str, draft: str, public: str, edit: dict[str, str]
) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    pages = {f"news/{one}.md": f"---\ntitle: {one}\n{name}: {public}\n---\n".encode() for one in ("a", "b", "c")}
    site.repo.commit(pages | {"news/d.md": f"---\ntitle: Unfinished\n{name}: {draft}\n---\n".encode()})
    if config is not None:
        site.repo.commit({"frontmatter.json": (FRONT_MATTER_CMS % (config, name)).encode()})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    listed = site.owner.client.get(f"{base}/collections/news").text
    assert listed.count(">draft</span>") == 1
    for url in ("collections/news", "content/news"):
        drafts, others = (site.owner.client.get(f"{base}/{url}?state={one}").text for one in ("draft", "published"))
        assert ("Unfinished" in drafts, "edit/news/a.md" in drafts) == (True, False)
        assert ("Unfinished" in others, "edit/news/a.md" in others) == (False, True)
    page = site.owner.client.get(f"{base}/edit/news/d.md")
    assert '<span class="badge badge--warning">Draft: visitors do not see the page</span>' in page.text
    sent = {key: value for key, value in form_of(page, "editor-form").items() if key != f"fm.{name}"} | edit
    assert "&done=saved&" in submit(site.owner, f"{base}/edit/news/d.md", **sent).location
    assert diff(site) == [f"-{name}: {draft}", f"+{name}: {public}"]
    assert "Published: visitors see the page" in site.owner.client.get(f"{base}/edit/news/d.md").text
    form = {"select": "news/d.md", "action": "draft", "base_sha": site.repo.head()}
    assert submit(site.owner, f"{base}/collections/news", **form).status_code == 303
    assert diff(site) == [f"-{name}: {public}", f"+{name}: {draft.replace('in progress', 'draft')}"]


def test_tab_without_scripts_keeps_the_typed_text_as_a_draft(console: ConsoleScene) -> None:
    owner, url = console.site.owner, url_of(console, "content/posts/first.md")
    sent = form_of(owner.client.get(url), "editor-form") | {"fm.title": "Typed", "list-action": "show"}
    shown = submit(owner, f"{url}?mode=rich&panel=history", **sent)
    assert shown.status_code == 200
    assert "\nTyped</textarea>" in shown.text
    assert '<div class="panel__part" data-panel-part="history">' in shown.text
    assert "\nTyped</textarea>" in owner.client.get(url).text


def test_history_panel_lists_the_versions_of_the_page(console: ConsoleScene) -> None:
    owner, url = console.site.owner, url_of(console, "content/posts/first.md")
    console.site.repo.commit({"content/posts/first.md": b"---\ntitle: Again\n---\n"}, "Shorten the page")
    assert "Shorten the page" in owner.client.get(f"{url}?panel=history").text
    assert "Shorten the page" not in owner.client.get(url).text
    console.site.repo.commit({"content/posts/first.md": b"---\ntitle: Other\n---\n"}, "Update content/posts/first.md")
    shown = owner.client.get(f"{url}?panel=history").text
    assert "<bdi>Changed: Title</bdi></a>" in shown
    assert "Update content/posts/first.md" not in shown


def test_group_with_an_error_is_open(console: ConsoleScene) -> None:
    schema = b"""collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: first, type: object, fields: [{name: weight, type: number}]}
      - {name: seo, type: object, fields: [{name: weight, type: number}]}
"""
    console.site.repo.commit({".galley.yml": schema})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    url = url_of(console, "content/posts/first.md")
    page = console.site.owner.client.get(url)
    assert 'id="group.first" data-group open><summary' in page.text
    assert 'id="group.seo" data-group><summary' in page.text
    refused = submit(console.site.owner, url, **form_of(page, "editor-form") | {"fm.seo/weight": "seven"})
    assert 'id="group.seo" data-group open><summary' in refused.text


def test_list_of_texts_suggests_the_values_of_other_entries(scene: ConsoleScene) -> None:
    page = scene.site.owner.client.get(url_of(scene)).text
    assert 'data-chips data-list="fm.tags-list"' in page
    [suggestions] = re.findall(r'<datalist id="fm.tags-list">(.*?)</datalist>', page)
    assert re.findall(r'value="([^"]*)"', suggestions) == ["a", "b", "one"]


def test_present_time_is_written_in_the_zone_of_the_value_else_of_the_user(scene: ConsoleScene) -> None:
    preferences = {"theme": "system", "language": "en", "timezone": "Asia/Tokyo"}
    assert submit(scene.site.owner, "/console/account/preferences", **preferences).status_code == 303
    page = scene.site.owner.client.get(url_of(scene)).text
    zones = dict(re.findall(r'name="fm.(at|date)"[^>]* data-zone="([^"]*)"', page))
    assert zones == {"at": "+02:00", "date": "+0900"}
    assert re.findall(r"Time zone: <bdi>([^<]*)<", page) == ["GMT+02:00"]

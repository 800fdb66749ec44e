"""The page "Edit on the page" without scripts: its links, the save of the drafts of a visit, and texts of marks."""

import json
from dataclasses import replace

import pytest

from app.content.marks import find_marks, strip_marks
from app.drivers.sandbox.none import NoSandboxes
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import FILE, form_of
from tests.console.test_organizations import submit
from tests.console.test_preview import JSON
from tests.console.test_set_editing import NEW, Proposer
from tests.resources.sandbox.conftest import make_site, stop_sandboxes
from tests.resources.sandbox.test_editable import files, shown
from tests.support.world import World

__all__ = ["stop_sandboxes"]

HALL = "content/hall.md"
OTHER = "content/posts/second.md"


@pytest.fixture
def me(console: ConsoleScene) -> Proposer:
    """The owner, whose two pages have drafts."""
    console.site.world.work_off()
    me = Proposer(console, console.site.owner)
    me.draft(FILE, me.text("main").replace("One line.", "My line."))
    me.draft(OTHER, "Mine.\n")
    return me


def texts(me: Proposer) -> set[str]:
    """Return the drafts of the user on the working branch."""
    url, files = f"/project-draft/{me.console.ids['project_id']}", (FILE, OTHER)
    found = [me.person.again().get(url, query_string={"file": file}) for file in files]
    return {file for file, answer in zip(files, found, strict=True) if answer.status == 200}


@pytest.mark.one_database
class TestPage:
    def test_page_leads_to_the_forms_and_has_the_address_of_the_query(self, me: Proposer) -> None:
        shown = me.person.client.get(f"{me.base}/site?at=/posts/%22x").text
        assert 'data-at="/posts/&#34;x"' in shown
        assert 'sandbox="allow-scripts allow-same-origin allow-forms allow-downloads"' in shown
        forms = shown[shown.index("data-site-forms") : shown.index("data-site-stage")]
        assert "Texts of this site open in the form." in forms
        assert f'href="{me.base}/collections/' in forms
        assert f'href="{me.base}/site"' in me.person.client.get(me.base).text

    def test_page_links_to_the_drafts_of_the_user(self, me: Proposer) -> None:
        shown = me.person.client.get(f"{me.base}/site").text
        drafts = shown[shown.index("data-site-drafts") : shown.index("data-site-status")]
        assert [f'href="{me.base}/edit/{file}"' in drafts for file in (FILE, OTHER)] == [True, True]
        assert "data-site-drafts" not in me.console.people["editor"].client.get(f"{me.base}/site").text

    def test_navigation_has_no_link_without_sandboxes(self, me: Proposer, monkeypatch: pytest.MonkeyPatch) -> None:
        extensions = me.console.app.extensions
        monkeypatch.setitem(extensions, "drivers", replace(extensions["drivers"], sandbox=NoSandboxes()))
        assert f'href="{me.base}/site"' not in me.person.client.get(me.base).text

    def test_member_without_the_right_to_publish_can_only_propose(self, me: Proposer) -> None:
        save = 'type="submit" form="site-form" aria-disabled'
        editor = me.console.people["editor"]
        pages = {1: editor.client.get(f"{me.base}/site").text}
        me.call("patch", f"/project/{me.console.ids['project_id']}", {"publishers": "admins"})
        pages[2] = editor.client.get(f"{me.base}/site").text
        assert [save in page for page in pages.values()] == [True, False]
        assert all('name="save-to" value="review"' in page for page in pages.values())


class TestSave:
    def test_drafts_of_the_visit_are_one_commit_that_can_be_undone(self, me: Proposer) -> None:
        head = me.repo.head()
        saved = submit(me.person, f"{me.base}/site", file=[FILE, OTHER])
        assert saved.location == f"{me.base}/site?done=saved&undo={me.repo.head()}"
        assert ("My line." in me.text("main"), me.text("main", OTHER)) == (True, "Mine.\n")
        assert me.repo.text("rev-list", "--count", f"{head}..main").strip() == "1"
        assert texts(me) == set()
        assert 'role="status"><p>Saved</p>' in me.person.client.get(saved.location).text

    def test_other_drafts_stay(self, me: Proposer) -> None:
        submit(me.person, f"{me.base}/site", file=OTHER)
        assert texts(me) == {FILE}

    def test_changes_of_others_are_merged(self, me: Proposer) -> None:
        me.repo.commit({FILE: me.text("main").replace("Another line.", "Their line.").encode()})
        assert "done=saved" in submit(me.person, f"{me.base}/site", file=[FILE, OTHER]).location
        assert ("My line." in me.text("main"), "Their line." in me.text("main")) == (True, True)

    def test_conflict_saves_nothing_and_leads_to_the_comparison(self, me: Proposer) -> None:
        me.repo.commit({FILE: me.text("main").replace("One line.", "Their line.").encode()})
        head = me.repo.head()
        assert submit(me.person, f"{me.base}/site", file=[FILE, OTHER]).location == f"{me.base}/conflict/{FILE}"
        assert (me.repo.head(), texts(me)) == (head, {FILE, OTHER})

    def test_invalid_value_saves_nothing_and_names_the_page(self, me: Proposer) -> None:
        fields = b"[{name: title, required: true}, {name: kind, type: string, options: [news], required: true}]"
        schema = b"collections:\n  - {name: posts, folder: content/posts, fields: %b}\n" % fields
        me.repo.commit({".galley.yml": schema})
        me.console.site.owner.post(me.console.site.path("/reindex")).ok(202)
        me.console.site.world.work_off()
        me.draft(FILE, me.text("main").replace("title: First post", "title: First post\nkind: [1]"))
        head = me.repo.head()
        refused = submit(me.person, f"{me.base}/site", file=[FILE, OTHER])
        assert refused.status_code == 400
        assert "A value of “First post” cannot be saved." in refused.text
        assert (me.repo.head(), texts(me)) == (head, {FILE, OTHER})

    @pytest.mark.parametrize("file", [[], ["content/none.md"], [FILE]])
    def test_save_without_a_change_says_so(self, me: Proposer, file: list[str]) -> None:
        submit(me.person, f"{me.base}/site", file=[FILE, OTHER])
        head = me.repo.head()
        assert submit(me.person, f"{me.base}/site", file=file).location == f"{me.base}/site?done=unchanged"
        assert me.repo.head() == head

    def test_drafts_are_proposed_as_one_commit_of_a_set(self, me: Proposer) -> None:
        head = me.repo.head()
        sent = submit(me.person, f"{me.base}/site", **NEW, **{"change-set-title": "", "file": [FILE, OTHER]})
        [made] = me.sets()
        assert (made["files"], made["title"], sent.location) == (
            2,
            "First post, Second",
            f"{me.base}/changes/{made['id']}?done=saved",
        )
        assert (me.repo.head(), texts(me), "My line." in me.text(made["branch"])) == (head, set(), True)


@pytest.mark.one_database
class TestMarks:
    @pytest.mark.parametrize("numbers", ["", "x", "1,", "-1", "1 2", "999999999", "1," * 500 + "1"])
    def test_other_numbers_are_refused(self, me: Proposer, numbers: str) -> None:
        headers = {"Accept": "application/json"}
        answer = me.person.client.get(f"{me.base}/site/marks", query_string={"numbers": numbers}, headers=headers)
        assert (answer.status_code, json.loads(answer.text)["code"]) == (400, "VALIDATION_FAILED")

    @pytest.mark.parametrize(
        ("file", "field", "pointer"),
        [
            (FILE, "title", "/title"),
            (f"./{FILE}", "hero.title", "/hero/title"),
            (f"/{FILE}", "/a.b/0", "/a.b/0"),
            ("content/posts/new.md", "title", "/title"),
        ],
    )
    def test_field_that_an_attribute_names_has_its_part_and_addresses(
        self, me: Proposer, file: str, field: str, pointer: str
    ) -> None:
        me.draft("content/posts/new.md", "---\ntitle: New\n---\n")
        query = {"file": file, "field": field}
        [shown] = me.person.client.get(f"{me.base}/site/field", query_string=query).json["marks"]
        path = file.removeprefix(".").removeprefix("/")
        assert (shown["path"], shown["pointer"], shown["block"]) == (path, pointer, None)
        assert (shown["edit"], shown["blob_sha"]) == (f"{me.base}/edit/{path}", "")

    @pytest.mark.parametrize(
        "query",
        [{}, {"file": FILE}, {"field": "title"}, {"file": "", "field": "a"}, {"file": "a" * 1_001, "field": "a"}],
    )
    def test_other_fields_are_refused(self, me: Proposer, query: dict[str, str]) -> None:
        answer = me.person.client.get(f"{me.base}/site/field", query_string=query, headers=JSON)
        assert (answer.status_code, json.loads(answer.text)["code"]) == (400, "VALIDATION_FAILED")

    @pytest.mark.parametrize("file", ["content/none.md", "../secret", "content"])
    def test_field_of_no_file_is_not_known(self, me: Proposer, file: str) -> None:
        query = {"file": file, "field": "title"}
        assert me.person.client.get(f"{me.base}/site/field", query_string=query).json == {"marks": []}

    @pytest.mark.slow
    @pytest.mark.usefixtures("stop_sandboxes")
    def test_known_numbers_have_their_part_entry_and_addresses(self, world: World) -> None:
        site = make_site(world, files())
        world.work_off()
        site.created(editable=True)
        base, numbers = f"/console/projects/{site.project}", [mark.number for mark in find_marks(shown(site, HALL))]
        listed = f"{numbers[1]},{numbers[0]},{numbers[1]},1"
        texts = site.editor.client.get(f"{base}/site/marks?numbers={listed}").json["marks"]
        assert [(text["number"], text["part"], text["pointer"], text["block"]) for text in texts] == [
            (numbers[1], "Text", None, 0),
            (numbers[0], "Title", "/title", None),
        ]
        form = site.editor.client.get(texts[0]["edit"]).text
        assert f'data-version="{texts[0]["blob_sha"]}"' in form
        assert (texts[0]["title"], texts[0]["text_url"]) == (
            "The town hall",
            f"{base}/preview-text/{HALL}?editable=true",
        )

    @pytest.mark.slow
    @pytest.mark.usefixtures("stop_sandboxes")
    def test_misplaced_values_have_no_marks_after_the_next_start(self, world: World) -> None:
        site = make_site(world, files())
        site.created(editable=True)
        numbers = [mark.number for mark in find_marks(shown(site, HALL))]
        url = f"/console/projects/{site.project}/site/misplaced"
        assert site.editor.client.post(url, data={"numbers": f"{numbers[0]},1"}).status_code == 200
        assert site.editor.client.post(url, data={"numbers": "x"}, headers=JSON).status_code == 400
        site.created(editable=True, forceSync=True)
        assert len(list(find_marks(shown(site, HALL)))) == len(numbers) - 1

    @pytest.mark.slow
    @pytest.mark.usefixtures("stop_sandboxes")
    def test_typed_text_is_written_into_the_editable_preview_only(self, world: World) -> None:
        site = make_site(world, files())
        base = f"/console/projects/{site.project}"
        sent = form_of(site.owner.client.get(f"{base}/edit/{HALL}"), "editor-form") | {"body": "Typed.\n"}
        site.created()
        url = f"{base}/preview-text/{HALL}?editable=true"
        with world.app.app_context():
            assert site.owner.client.post(url, data=sent, headers=JSON).json["active"] is False
        site.created(editable=True)
        with world.app.app_context():
            assert site.owner.client.post(url, data=sent, headers=JSON).json["active"] is True
        assert "Typed." in strip_marks(shown(site, HALL), lambda _: True)

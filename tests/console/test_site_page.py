"""The page that compares a page of the built site before and after the changes of a set."""

import hashlib
import re
import secrets
from html import unescape
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.core.limits import MIB
from app.extensions import db, drivers
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build.storing import object_key
from tests.console.test_change_sets import Reader
from tests.preview_proxy.test_middleware import Window
from tests.resources.change_set.conftest import Team, make_team
from tests.support.world import World

pytestmark = pytest.mark.one_database

HOURS = "hours/index.html"
BEFORE = (
    "<title>Hours</title><main><h1>Opening hours</h1><p>We open at <b>nine</b>.</p><p>Welcome &amp; hello</p></main>"
)
AFTER = BEFORE.replace("nine", "ten").replace("</main>", "<p>Closed in <i>May</i></p></main>")


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


@pytest.fixture
def editor(team: Team) -> Reader:
    return Reader(team, team.editor)


def build_of(team: Team, sha: str, pages: dict[str, str], state: BuildState = BuildState.READY) -> str:
    """Store a build with its pages and return its label."""
    with team.world.app.app_context():
        build = SiteBuild(project_id=team.project, commit_sha=sha, label=secrets.token_hex(16), state=state)
        db.session.add(build)
        db.session.flush()
        for path, text in pages.items():
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            drivers.storage.put(object_key(team.project, sha256), BytesIO(text.encode()), mimetype="text/html")
            row = {"path": path, "sha256": sha256, "size": len(text), "mimetype": "text/html", "title": "Hours"}
            digests = {"content_digest": sha256[:32], "frame_digest": ""}
            db.session.add(SiteBuildFile(build_id=build.id, project_id=team.project, **row, **digests))
        db.session.commit()
        return str(build.label)


def compared(team: Team, before: dict[str, str], after: dict[str, str]) -> tuple[dict[str, Any], str, str]:
    """Create a set with both builds. Return it with the labels of the base and of the set."""
    one = team.edited()
    return one, build_of(team, one["base_sha"], before), build_of(team, one["head_sha"], after)


def see(editor: Reader, one: dict[str, Any], at: str = "/hours/") -> str:
    response = editor.person.client.get(editor.url(one, "/site/page"), query_string={"at": at})
    assert response.status_code == 200, response.text
    return str(response.text)


def frames(page: str) -> list[str]:
    return list(map(unescape, re.findall(r'<iframe[^>]* src="([^"]*)"', page)))


def sides(page: str) -> list[str]:
    """Return the changed texts with their marks."""
    return re.findall(r'<div class="compare__side[^>]*>(.*?)</div>', page, re.DOTALL)


def test_changed_page_has_both_versions_links_and_changed_texts(team: Team, editor: Reader) -> None:
    one, of_base, of_set = compared(team, {HOURS: BEFORE}, {HOURS: AFTER})
    assert f'href="{editor.url(one, "/site/page?at=/hours/")}"' in editor.see(one)
    page = see(editor, one)
    assert [str(urlsplit(frame).hostname).partition(".")[0] for frame in frames(page)] == [of_base, of_set]
    for frame in frames(page):
        assert parse_qs(urlsplit(frame).query)["galley_changes"] == [one["id"]]
    assert sides(page) == [
        "<p>We open at <del>nine</del>.</p>",
        "<p>We open at <ins>ten</ins>.</p>",
        "<p>Closed in May</p>",
    ]
    links = [link.partition("?")[2] for link in re.findall(r'href="([^"]*open-site[^"]*)"', page)]
    assert links == ["at=/hours/&amp;before=true", "at=/hours/"]


def test_frames_show_marks_at_the_changes_and_links_do_not(team: Team, editor: Reader) -> None:
    one, *_labels = compared(team, {HOURS: BEFORE}, {HOURS: AFTER})
    marks = []
    for frame in frames(see(editor, one)):
        window = Window(team.world.app, {"previewUrl": frame})
        query = urlsplit(window.enter().location).query
        text = window.get(f"{urlsplit(frame).path}?{query}").text
        marks.append(re.findall(r"data-galley-change[^>]*>([^<]*)", text)[1:])
        assert "data-galley-change" not in window.get("/hours/").text
    assert marks == [["We open at "], ["We open at ", "Closed in "]]


@pytest.mark.parametrize(("before", "after", "label"), [({}, {HOURS: AFTER}, 2), ({HOURS: BEFORE}, {}, 1)])
def test_new_and_deleted_pages_have_one_version(
    team: Team, editor: Reader, before: dict[str, str], after: dict[str, str], label: int
) -> None:
    made = compared(team, before, after)
    page = see(editor, made[0])
    assert [str(urlsplit(frame).hostname).partition(".")[0] for frame in frames(page)] == [made[label]]
    assert "What changes on this page" not in page
    assert page.count("open-site") == 1


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("<b>nine</b>", "<a href='/x'>nine</a>", "Only a link, a picture or the format differs."),
        ("<main>", "<main class=wide>", "The texts of both versions are the same."),
        ("</main>", "<b>x</b>" * 60_000, "This page is too large to list its changes."),
        ("</main>", "x" * MIB, "This page is too large to list its changes."),
        ("</main>", "<p>x</p>" * 101, "This comparison is too long to show completely."),
    ],
)
def test_other_differences_and_limits_are_named(team: Team, editor: Reader, old: str, new: str, text: str) -> None:
    one, *_labels = compared(team, {HOURS: BEFORE}, {HOURS: BEFORE.replace(old, new)})
    assert text in see(editor, one)


def test_text_of_the_site_is_escaped(team: Team, editor: Reader) -> None:
    evil = AFTER.replace("ten", "&lt;script&gt;alert(1)&lt;/script&gt;")
    one, *_labels = compared(team, {HOURS: BEFORE}, {HOURS: evil})
    page = see(editor, one)
    assert "<script>alert" not in page
    assert "alert(1)" in page


@pytest.mark.parametrize("at", ["/missing/", "/a\0b", "//evil.example/", "/../hours"])
def test_page_that_no_version_has_is_missing(team: Team, editor: Reader, at: str) -> None:
    one, *_labels = compared(team, {HOURS: BEFORE}, {HOURS: AFTER})
    response = editor.person.client.get(editor.url(one, "/site/page"), query_string={"at": at})
    assert response.status_code == 404


@pytest.mark.parametrize("state", [BuildState.BUILDING, BuildState.FAILED, BuildState.EXPIRED, None])
def test_set_without_both_builds_leads_to_its_page(team: Team, editor: Reader, state: BuildState | None) -> None:
    one = team.edited()
    build_of(team, one["head_sha"], {HOURS: AFTER})
    if state is not None:
        build_of(team, one["base_sha"], {HOURS: BEFORE}, state)
    assert editor.person.client.get(editor.url(one, "/site/page?at=/hours/")).location == editor.url(one, "#site")


def test_marks_need_a_set_of_the_project_and_leave_other_builds_as_they_are(team: Team, editor: Reader) -> None:
    one, *_labels = compared(team, {HOURS: BEFORE}, {HOURS: AFTER})
    other = make_team(team.world)
    foreign, *_labels = compared(other, {HOURS: BEFORE}, {HOURS: AFTER})
    window = Window(team.world.app, {"previewUrl": frames(see(editor, one))[1]})
    window.enter()
    for value in (
        foreign["id"],
        "chg_1",
        "",
        "%00",
        "chg_01j00000000000000000000000",
        team.edited("Other", "Other text\n")["id"],
    ):
        assert "data-galley-change" not in window.get(f"/hours/?galley_changes={value}").text
    tags = {window.get(f"/hours/{query}").headers["ETag"] for query in ("", f"?galley_changes={one['id']}")}
    assert len(tags) == 2

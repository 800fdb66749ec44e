"""The built site on the page of a set of changes: the state of the build, its links, and the pages that change."""

import re
import secrets
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from flask import Flask

from app.drivers.sandbox.none import NoSandboxes
from app.extensions import db
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.security.preview_links import PARAMETER, PreviewLinkSigner
from tests.console.test_change_sets import Reader, alert
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit
from tests.resources.change_set.conftest import Team, make_team
from tests.support.world import World

pytestmark = pytest.mark.one_database

HEADING = 'id="site-title"'


class CanBuild(NoSandboxes):
    """A host that can build."""

    def check(self) -> None:  # type: ignore[override]
        """Accept."""


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


@pytest.fixture
def editor(team: Team) -> Reader:
    return Reader(team, team.editor)


def use_host(app: Flask, monkeypatch: pytest.MonkeyPatch, host: NoSandboxes) -> None:
    monkeypatch.setitem(app.extensions, "drivers", replace(app.extensions["drivers"], sandbox=host))


@pytest.fixture
def _builds(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    use_host(app, monkeypatch, CanBuild())


def add_build(
    team: Team, sha: str, state: BuildState, pages: dict[str, str] | None = None, *, frame: str = "", **more: Any
) -> str:
    """Store a build of a commit. `pages` are the titles by path; a page differs in each build by its title."""
    with team.world.app.app_context():
        build = SiteBuild(project_id=team.project, commit_sha=sha, label=secrets.token_hex(16), state=state)
        for name, value in more.items():
            setattr(build, name, value)
        db.session.add(build)
        db.session.flush()
        for path, title in (pages or {}).items():
            digest = f"{abs(hash(title)):032x}"[:32]
            row = {"path": path, "size": 10, "mimetype": "text/html", "title": title, "frame_digest": frame}
            digests = {"sha256": digest * 2, "content_digest": digest}
            db.session.add(SiteBuildFile(build_id=build.id, project_id=team.project, **row, **digests))
        db.session.commit()
        return str(build.label)


def both(team: Team, one: dict[str, Any], before: dict[str, str], after: dict[str, str]) -> tuple[str, str]:
    """Store the builds of the base and of a set, and return their labels."""
    return tuple(  # type: ignore[return-value]
        add_build(team, sha, BuildState.READY, pages)
        for sha, pages in ((one["base_sha"], before), (one["head_sha"], after))
    )


def section(page: str) -> str:
    """Return the section of the built site, or an empty text."""
    found = re.search(rf"<section[^>]*>(?=<h2[^>]*{HEADING})(.*?)</section>", page, re.DOTALL)
    return found.group(1) if found else ""


def texts(part: str) -> list[str]:
    """Return the list of pages: titles, states and links."""
    return [" ".join(re.sub(r"<[^>]*>", " ", item).split()) for item in re.findall(r"<li>(.*?)</li>", part, re.DOTALL)]


STATES = (
    (BuildState.WAITING, "waits to be built", True),
    (BuildState.INSTALLING, "is being built", True),
    (BuildState.BUILDING, "is being built", True),
    (BuildState.READY, "was built with", False),
    (BuildState.FAILED, "could not be built", False),
    (BuildState.EXPIRED, "because of its age", False),
)


@pytest.mark.usefixtures("_builds")
@pytest.mark.parametrize(("state", "text", "is_followed"), STATES)
def test_state_of_the_build_is_shown_and_followed(
    team: Team, editor: Reader, state: BuildState, text: str, *, is_followed: bool
) -> None:
    one = team.edited()
    add_build(team, one["base_sha"], BuildState.READY)
    add_build(team, one["head_sha"], state)
    part = section(editor.see(one))
    assert text in part
    assert ("hx-get=" in part, f'href="{editor.url(one)}"' in part) == (is_followed, is_followed)
    assert ("Build it again" in part) == (state in (BuildState.FAILED, BuildState.EXPIRED))
    assert ("Open the site" in part) == (state is BuildState.READY)


@pytest.mark.usefixtures("_builds")
def test_part_of_the_page_is_sent_when_its_state_has_changed(team: Team, editor: Reader) -> None:
    one = team.edited()
    add_build(team, one["head_sha"], BuildState.WAITING)
    [url] = re.findall(r'hx-get="([^"]*)"', section(editor.see(one)))
    assert editor.person.client.get(url).status_code == 204
    with team.world.app.app_context():
        db.session.execute(sa.update(SiteBuild).values(state=BuildState.BUILDING))
        db.session.commit()
    assert "is being built" in section(editor.read(url))


@pytest.mark.usefixtures("_builds")
def test_draft_is_built_on_request_with_its_base(team: Team, editor: Reader) -> None:
    one = team.edited()
    assert "Build the site" in section(editor.see(one))
    sent = editor.send(one, "site")
    assert (sent.status_code, sent.location) == (303, editor.url(one, "#site")), alert(sent)
    with team.world.app.app_context():
        rows = db.session.scalars(sa.select(SiteBuild).where(SiteBuild.project_id == team.project)).all()
        found = {row.commit_sha: (row.change_set_id, row.user_id) for row in rows}
    assert found == {one["head_sha"]: (one["id"], team.editor.id), one["base_sha"]: (None, team.editor.id)}
    assert "waits to be built" in section(editor.see(one))


@pytest.mark.usefixtures("_builds")
def test_full_storage_is_named_and_nothing_is_built(
    team: Team, editor: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = team.edited()
    monkeypatch.setattr("app.resources.site_build.service.stored_bytes", lambda _id: 10**12)
    refused = editor.send(one, "site")
    assert (refused.status_code, "storage for built sites is full" in refused.text) == (409, True)


@pytest.mark.usefixtures("_builds")
def test_closed_set_is_not_built(team: Team, editor: Reader) -> None:
    one = team.edited()
    assert editor.send(one, "close").status_code == 303
    assert section(editor.see(one)) == ""
    assert editor.send(one, "site").status_code == 409


def test_installation_that_cannot_build_shows_no_section(
    team: Team, editor: Reader, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_host(app, monkeypatch, NoSandboxes())
    assert section(editor.see(team.edited())) == ""


@pytest.mark.usefixtures("_builds")
def test_only_owners_and_administrators_see_the_technical_reason(team: Team, editor: Reader) -> None:
    one = team.edited()
    failure = {
        "code": "BUILD_FAILED",
        "problem": "hugo ended with 1",
        "step": "Building",
        "hint": "Look",
        "log": "a <b>",
    }
    add_build(team, one["head_sha"], BuildState.FAILED, **failure)
    part = section(editor.see(one))
    assert ("Owners and administrators see the reason here." in part, "hugo" in part) == (True, False)
    for person in (team.owner, team.admin):
        part = section(Reader(team, person).see(one))
        assert all(text in part for text in ("Building: hugo ended with 1", '<p dir="auto">Look', "a &lt;b&gt;"))
        assert "Owners and administrators" not in part


def test_pages_that_change_lead_to_both_sites(team: Team, editor: Reader) -> None:
    one = team.edited()
    before = {"index.html": "Home", "about/index.html": "About", "old/index.html": "Old"}
    after = {"index.html": "Home", "about/index.html": "About us", "caf\u00e9.html": "", "new/index.html": "New"}
    of_base, of_set = both(team, one, before, after)
    part = section(editor.see(one))
    assert texts(part) == [
        "About us changed /about/ Before After",
        "/caf\u00e9.html created After",
        "New created /new/ After",
        "Old deleted /old/ Before",
    ]
    links = re.findall(r'href="([^"]*open-site[^"]*)" target="_blank"', part)
    assert len(links) == 6
    targets = [urlsplit(editor.person.client.get(link.replace("&amp;", "&")).location) for link in links]
    assert [target.path for target in targets] == ["/", "/about/", "/about/", "/caf%C3%A9.html", "/new/", "/old/"]
    assert [str(target.hostname).partition(".")[0] for target in targets] == [
        *(of_set, of_base, of_set, of_set, of_set, of_base)
    ]
    signer = PreviewLinkSigner(team.world.app.config["SETTINGS"].security.secret_key)
    [token] = parse_qs(targets[0].query)[PARAMETER]
    assert signer.user_of_link(token, of_set) == team.editor.id


@pytest.mark.parametrize(
    "at", ["@evil.example/", "//evil.example/", "/a%0d%0aX: 1", "/?preview_token=1#", "\\evil.example"]
)
def test_address_of_a_link_stays_at_the_built_site(team: Team, editor: Reader, at: str) -> None:
    one = team.edited()
    label = add_build(team, one["head_sha"], BuildState.READY)
    location = urlsplit(editor.person.client.get(editor.url(one, "/open-site"), query_string={"at": at}).location)
    assert str(location.hostname).startswith(f"{label}.")
    assert (location.username, list(parse_qs(location.query)), location.fragment) == (None, [PARAMETER], "")


def test_link_without_a_built_site_leads_to_the_set(team: Team, editor: Reader) -> None:
    one = team.edited()
    add_build(team, one["head_sha"], BuildState.EXPIRED)
    for query in ("", "?before=true"):
        assert editor.person.client.get(editor.url(one, f"/open-site{query}")).location == editor.url(one, "#site")


def test_at_most_fifty_pages_are_listed(team: Team, editor: Reader) -> None:
    one = team.edited()
    pages = {f"p{number:02}/index.html": f"Page {number}" for number in range(53)}
    both(team, one, {}, pages)
    part = section(editor.see(one))
    assert (len(texts(part)), "and 3 more" in part) == (50, True)


def test_change_of_all_pages_is_named_once(team: Team, editor: Reader) -> None:
    one = team.edited()
    pages = {f"p{number}/index.html": f"Page {number}" for number in range(3)}
    add_build(team, one["base_sha"], BuildState.READY, pages, frame="a")
    add_build(team, one["head_sha"], BuildState.READY, pages, frame="b")
    with team.world.app.app_context():
        own = sa.select(SiteBuild.id).where(SiteBuild.commit_sha == one["head_sha"]).scalar_subquery()
        db.session.execute(sa.update(SiteBuildFile).where(SiteBuildFile.build_id == own).values(sha256="1" * 64))
        db.session.commit()
    part = section(editor.see(one))
    assert (part.count("Header, menu or footer of all pages change."), texts(part)) == (1, [])
    assert "No page of the site changes" not in part


def test_set_that_changes_no_page_says_so(team: Team, editor: Reader) -> None:
    one = team.edited()
    both(team, one, {"index.html": "Home"}, {"index.html": "Home"})
    assert "No page of the site changes." in section(editor.see(one))


@pytest.mark.usefixtures("_builds")
def test_missing_base_is_named(team: Team, editor: Reader) -> None:
    one = team.edited()
    add_build(team, one["head_sha"], BuildState.READY)
    part = section(editor.see(one))
    assert ("so the pages that change cannot be listed" in part, "Open the site" in part) == (True, True)


def test_setting_builds_proposed_changes_or_not(team: Team) -> None:
    url = f"/console/projects/{team.project}/settings"
    sent = form_of(team.owner.client.get(url), url)
    assert sent["build_change_sets"] == "1"
    submit(team.owner, url, **{name: value for name, value in sent.items() if name != "build_change_sets"})
    assert team.owner.get(f"/project/{team.project}").ok()["build_change_sets"] is False
    assert "build_change_sets" not in form_of(team.owner.client.get(url), url)

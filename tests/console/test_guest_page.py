"""The page of a review link: what a guest sees and does, and the host of the built site."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from flask import Flask
from werkzeug.test import Client, TestResponse

from app.access.client_address import network_of
from app.core import clock
from app.extensions import db, drivers
from app.models.review_link import ReviewLink
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.rate_limiting.counter import RateCounter
from app.resources.site_build import jobs
from app.resources.site_build.storing import object_key
from tests.console.test_built_site import add_build
from tests.console.test_editing import form_of
from tests.resources.change_set.conftest import PAGE, TEXT, Team, mails_of, make_team, run_due, update
from tests.resources.review_link.test_links import share
from tests.support.parallel import at_once
from tests.support.world import World

pytestmark = pytest.mark.one_database

BEFORE = {"index.html": "<h1>Home</h1>", "about/index.html": "<h1>Us</h1>"}
AFTER = {"index.html": "<h1>New home</h1>", "about/index.html": "<h1>Us</h1>", "more/index.html": "<h1>More</h1>"}


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


def add_site(team: Team, sha: str, pages: dict[str, str]) -> str:
    """Store a ready build with its contents, and return its label."""
    label = add_build(team, sha, BuildState.READY, pages)
    with team.world.app.app_context():
        build = db.session.scalar(sa.select(SiteBuild).where(SiteBuild.label == label))
        assert build is not None
        build.expires_at = clock.now() + timedelta(days=1)
        for file in db.session.scalars(sa.select(SiteBuildFile).where(SiteBuildFile.build_id == build.id)):
            content = pages[file.path].encode()
            file.sha256, file.size, file.title = hashlib.sha256(content).hexdigest(), len(content), file.path
            drivers.storage.put(object_key(team.project, file.sha256), BytesIO(content), mimetype="text/html")
        db.session.commit()
    return label


class Guest:
    """A browser without an account that has a link."""

    def __init__(self, team: Team, link: dict[str, Any]) -> None:
        self.team, self.link, self.client = team, link, team.world.app.test_client()
        self.path = urlsplit(link["url"]).path

    def see(self, query: str = "") -> TestResponse:
        with self.team.world.app.app_context():
            return self.client.get(self.path + query)

    def send(self, form: str, **values: str) -> TestResponse:
        with self.team.world.app.app_context():
            return self.client.post(f"{self.path}/{form}", data=values)

    def named(self, name: str = "Gina Guest") -> "Guest":
        assert self.send("name", name=name).status_code == 303
        return self

    def frame(self, query: str = "") -> str:
        return re.search(r'<iframe[^>]* src="([^"]*)"', self.see(query).text)[1]  # type: ignore[index]

    def open_frame(self, url: str, **headers: str) -> TestResponse:
        parts = urlsplit(url)
        client = Client(self.team.world.app.wsgi_app, use_cookies=False)
        return client.get(parts.path, headers={"Host": parts.netloc} | headers, buffered=True)


def reviewed(team: Team, **options: Any) -> tuple[dict[str, Any], Guest]:
    """Return a set in review with both builds, and a guest with a link to it."""
    one = team.edited()
    team.call(one, "submit").ok()
    add_site(team, one["base_sha"], BEFORE)
    add_site(team, one["head_sha"], AFTER)
    return one, Guest(team, share(team, one, **{"rights": "approve"} | options).ok(201))


def test_guest_sees_the_pages_that_change_in_a_frame_of_this_link(team: Team) -> None:
    _, guest = reviewed(team, message="Please look at the home page")
    seen = guest.see()
    assert seen.status_code == 200
    assert "Please look at the home page" in seen.text
    assert re.findall(r"<bdi>([\w/]+\.html)</bdi></a>", seen.text) == ["index.html", "more/index.html"]
    assert seen.headers["Cache-Control"] == "private, no-store"
    assert seen.headers["X-Robots-Tag"] == "noindex"
    assert "/console/projects" not in seen.text
    answer = guest.open_frame(guest.frame())
    assert (answer.status_code, "<h1>New home</h1>" in answer.text) == (200, True)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert "<h1>Home</h1>" in guest.open_frame(guest.frame("?page=/&before=true")).text
    assert "<h1>More</h1>" in guest.open_frame(guest.frame("?page=/more/")).text
    assert "<h1>Us</h1>" in guest.open_frame(guest.frame("?page=/about/")).text


def test_reading_changes_nothing(team: Team) -> None:
    one, guest = reviewed(team)
    for path in ("", "?page=/", "/texts"):
        guest.see(path)
    assert guest.see().headers.getlist("Set-Cookie") == []
    [link] = team.owner.get(f"/change-set/{one['id']}/review-links").ok()
    assert (link["opened"], link["opened_at"]) == (0, None)


def test_name_is_kept_in_a_cookie_of_the_link_and_counted(team: Team) -> None:
    one, guest = reviewed(team)
    assert "/verdict" not in guest.see().text
    sent = guest.send("name", name="Gina Guest")
    assert f"Path={guest.path}" in sent.headers["Set-Cookie"]
    assert "You answer as Gina Guest." in guest.see().text
    [link] = team.owner.get(f"/change-set/{one['id']}/review-links").ok()
    assert link["opened"] == 1
    other = Guest(team, share(team, one, receiver="Other").ok(201))
    other.client = guest.client
    assert "You answer as" not in other.see().text


@pytest.mark.parametrize("form", ["comments", "verdict"])
def test_guest_has_to_give_a_name_first(team: Team, form: str) -> None:
    one, guest = reviewed(team)
    answer = guest.send(form, body="Good", verdict="approve", head_sha=one["head_sha"])
    assert answer.status_code == 400
    assert "Enter your name first." in answer.text
    assert team.owner.get(f"/change-set/{one['id']}/reviews").ok() == []


def test_comment_of_a_guest_is_shown_mailed_and_answered(team: Team) -> None:
    one, guest = reviewed(team)
    assert guest.named().send("comments", body="The tide is wrong", page="/more/").status_code == 303
    [comment] = team.owner.get(f"/change-set/{one['id']}/comments").ok()
    assert (comment["kind"], comment["user"], comment["page"]) == (
        "guest",
        {"id": None, "name": "Gina Guest"},
        "/more/",
    )
    assert "Gina Guest commented on" in mails_of(team, team.editor)[-1]
    assert "The tide is wrong" in guest.see().text
    with team.world.app.app_context():
        page = team.editor.again().client.get(f"/console/projects/{team.project}/changes/{one['id']}").text
    assert "Gina Guest" in page
    assert "Guest</span>" in page


def test_internal_comments_are_not_shown_to_guests(team: Team) -> None:
    one, guest = reviewed(team)
    team.call(one, "comments", {"body": "Internal words"}).ok(201)
    other = Guest(team, share(team, one, receiver="Other").ok(201))
    other.named("Otto").send("comments", body="Words of Otto")
    assert "Internal words" not in guest.see().text
    assert "Words of Otto" not in guest.see().text
    assert "Words of Otto" in other.see().text


def test_guest_asks_for_changes_sees_the_new_state_and_approves(team: Team) -> None:
    team.configure(guest_approval=True)
    one, guest = reviewed(team)
    shown = form_of(guest.named().see(), "/verdict")
    assert guest.send("verdict", **shown | {"verdict": "changes"}).status_code == 400, "a reason is needed"
    assert guest.send("verdict", **shown | {"verdict": "changes", "body": "Shorter"}).status_code == 303
    assert team.read(one)["state"] == "changes_requested"
    assert "You can approve it as soon as it is ready." in guest.see().text
    team.commit(one, update(PAGE, TEXT.replace("First", "Short"))).ok(201)
    team.call(one, "submit").ok()
    stale = guest.send("verdict", **shown | {"verdict": "approve"})
    assert (stale.status_code, team.read(one)["state"]) == (409, "in_review")
    assert 'role="alert"' in stale.text
    assert guest.send("verdict", **form_of(guest.see(), "/verdict") | {"verdict": "approve"}).status_code == 303
    assert team.read(one)["state"] == "approved"
    reviews = team.owner.get(f"/change-set/{one['id']}/reviews").ok()
    assert [(entry["kind"], entry["verdict"], entry["valid"]) for entry in reviews] == [
        ("guest", "changes", False),
        ("guest", "approve", True),
    ]
    assert team.call(one, "publish").ok()["state"] == "published"


def test_approval_of_a_guest_does_not_count_without_the_setting(team: Team) -> None:
    one, guest = reviewed(team)
    shown = form_of(guest.named().see(), "/verdict")
    assert guest.send("verdict", **shown | {"verdict": "approve"}).status_code == 303
    assert (team.read(one)["state"], team.read(one)["approvals"]) == ("in_review", 0)
    team.call(one, "publish").fails(409)


@pytest.mark.parametrize(("column", "approvals", "status"), [("revoked_at", 0, 409), ("expires_at", 1, 200)])
def test_approval_of_a_revoked_link_does_not_count(team: Team, column: str, approvals: int, status: int) -> None:
    team.configure(guest_approval=True)
    one, guest = reviewed(team)
    guest.named().send("verdict", **form_of(guest.see(), "/verdict") | {"verdict": "approve"})
    assert team.read(one)["state"] == "approved"
    with team.world.app.app_context():
        db.session.execute(sa.update(ReviewLink).values({column: clock.now()}))
        db.session.commit()
    assert team.read(one)["approvals"] == approvals
    assert team.call(one, "publish").status == status


def commit_to_the_set(team: Team, one: dict[str, Any], _guest: Guest) -> None:
    team.commit(one, update(PAGE, TEXT.replace("First", "Later"))).ok(201)


def push_to_its_branch(team: Team, one: dict[str, Any], _guest: Guest) -> None:
    team.repo.commit({PAGE: TEXT.replace("First", "Pushed").encode()}, branch=one["branch"])


def revoke_the_link(team: Team, _one: dict[str, Any], guest: Guest) -> None:
    team.admin.again().delete(f"/review-link/{guest.link['id']}").ok()


def end_the_approvals_of_guests(team: Team, _one: dict[str, Any], _guest: Guest) -> None:
    team.configure(guest_approval=False)


@pytest.mark.parametrize(
    "change", [None, commit_to_the_set, push_to_its_branch, revoke_the_link, end_the_approvals_of_guests]
)
def test_set_that_a_guest_approved_is_published_at_its_time_unless_the_approval_ended(
    team: Team, change: Callable[[Team, dict[str, Any], Guest], None] | None
) -> None:
    team.configure(guest_approval=True, required_approvals=1)
    one, guest = reviewed(team)
    guest.named().send("verdict", **form_of(guest.see(), "/verdict") | {"verdict": "approve"})
    assert team.schedule(one)["state"] == "scheduled"
    if change is not None:
        change(team, one, guest)
    for _ in range(2):
        run_due(team, one)
    assert (team.read(one)["state"] == "published") is (change is None)
    assert ("New words" in team.repo.show(PAGE).decode()) is (change is None)


def test_link_approves_once(team: Team) -> None:
    team.configure(guest_approval=True, required_approvals=2)
    one, guest = reviewed(team)
    for name in ("Gina", "Gustav"):
        guest.named(name).send("verdict", **form_of(guest.see(), "/verdict") | {"verdict": "approve"})
    assert (team.read(one)["state"], team.read(one)["approvals"]) == ("in_review", 1)


@pytest.mark.parametrize(
    ("rights", "may_comment", "may_review"), [("view", 403, 403), ("comment", 303, 403), ("approve", 303, 303)]
)
def test_rights_of_the_link_decide(team: Team, rights: str, may_comment: int, may_review: int) -> None:
    one, guest = reviewed(team, rights=rights)
    guest.named()
    assert guest.send("comments", body="Good").status_code == may_comment
    verdict = guest.send("verdict", verdict="changes", body="No", head_sha=one["head_sha"])
    assert verdict.status_code == may_review


def test_revoked_link_ends_at_once_with_its_frame(team: Team) -> None:
    one, guest = reviewed(team)
    frame = guest.named().frame()
    team.admin.delete(f"/review-link/{guest.link['id']}").ok()
    seen = guest.see()
    assert (seen.status_code, "This link ended on" in seen.text) == (410, True)
    assert one["title"] not in seen.text
    assert guest.open_frame(frame).status_code == 403
    assert guest.send("comments", body="Late").status_code == 410
    assert guest.send("name", name="Late").status_code == 410


def test_frame_opens_no_other_build(team: Team) -> None:
    _, guest = reviewed(team)
    other = team.edited("Other words", TEXT.replace("First", "Other"))
    label = add_site(team, other["head_sha"], AFTER)
    host = urlsplit(guest.frame()).netloc
    own, _, rest = host.partition("-")
    assert guest.open_frame(f"http://{host}/").status_code == 200
    assert guest.open_frame(f"http://{label}-{rest}/").status_code == 403
    key, _, domain = rest.partition(".")
    assert guest.open_frame(f"http://{own}-{'0' * len(key)}.{domain}/").status_code == 403
    assert guest.open_frame(f"http://{own}.{domain}/").status_code == 403, "without the key only members"


def test_requests_with_unknown_keys_are_counted_by_address(team: Team, app: Flask) -> None:
    _, guest = reviewed(team)
    counter = app.extensions["rates"]
    app.extensions["rates"] = RateCounter()
    rate = app.config["SETTINGS"].limits.rates.preview
    try:
        for _ in range(5_998):
            assert not app.extensions["rates"].try_acquire(rate, "preview", f"review {network_of(None)}")
        hosts = (f"http://{'0' * 32}-{number:024x}.preview.localhost/" for number in range(3))
        statuses = [guest.open_frame(host).status_code for host in hosts]
    finally:
        app.extensions["rates"] = counter
    assert statuses == [403, 403, 429]


def test_unknown_secrets_have_one_response(team: Team) -> None:
    _, guest = reviewed(team)
    client = team.world.app.test_client()
    answers = set()
    for secret in ("x", "a" * 43, guest.path.rpartition("/")[2][:-1] + "!", "%00", "é" * 10):
        with team.world.app.app_context():
            answer = client.get(f"/review/{secret}")
        answers.add((answer.status_code, re.sub(r"nonce-[\w-]+", "", answer.text)))
    [(status, text)] = answers
    assert status == 404
    assert "was deleted" in text


def test_password_protects_page_forms_and_frame_address(team: Team) -> None:
    one, guest = reviewed(team, password="a long password")
    assert one["title"] not in guest.see().text
    assert guest.see("/texts").status_code == 303
    assert guest.send("name", name="Gina").status_code == 400
    assert guest.send("password", password="wrong").status_code == 400
    assert guest.send("password", password="a long password").status_code == 303
    assert one["title"] in guest.see().text
    stranger = Guest(team, guest.link)
    for _ in range(5):
        stranger.send("password", password="wrong")
    answer = stranger.send("password", password="a long password")
    assert answer.status_code == 429


def test_link_of_one_commit_shows_it_after_a_newer_one(team: Team) -> None:
    one, follows = reviewed(team)
    fixed = Guest(team, share(team, one, commit_sha=one["head_sha"]).ok(201))
    team.commit(one, update(PAGE, TEXT.replace("First", "Later"))).ok(201)
    assert "<h1>New home</h1>" in fixed.open_frame(fixed.frame()).text
    assert "<iframe" not in follows.see().text, "the present head is not built"


def test_blocking_link_forbids_other_hosts(team: Team) -> None:
    _, guest = reviewed(team, blocks_hosts=True)
    policy = guest.open_frame(guest.frame()).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'")
    assert "frame-ancestors http" in policy


def test_build_of_an_active_link_does_not_expire(team: Team, app: Flask) -> None:
    _, guest = reviewed(team)
    with app.app_context():
        db.session.execute(sa.update(SiteBuild).values(expires_at=clock.now() - timedelta(days=1)))
        db.session.commit()
        jobs.expire()
        db.session.commit()
    assert guest.open_frame(guest.frame()).status_code == 200
    with app.app_context():
        db.session.execute(sa.update(ReviewLink).values(revoked_at=clock.now()))
        db.session.commit()
        jobs.expire()
        db.session.commit()
        states = set(db.session.scalars(sa.select(SiteBuild.state).where(SiteBuild.project_id == team.project)))
    assert states == {BuildState.EXPIRED}


def test_guest_without_a_build_compares_the_texts(team: Team) -> None:
    one = team.edited()
    guest = Guest(team, share(team, one).ok(201))
    assert "Compare the texts" in guest.see().text
    texts = guest.see("/texts").text
    assert "New" in texts
    assert "First" in texts


def test_texts_name_changed_pictures_without_their_addresses(team: Team) -> None:
    one = team.edited()
    pictures = {"a.png": "iVBORwA=", "b.svg": "PHN2Zy8+"}
    files = [
        {"path": f"static/{name}", "action": "create", "content": content, "encoding": "base64"}
        for name, content in pictures.items()
    ]
    text = TEXT.replace("title:", "cover: /a.png\ntitle:", 1)
    team.commit(one, *files, update(PAGE, text)).ok(201)
    guest = Guest(team, share(team, one).ok(201))
    texts = guest.see("/texts").text
    assert [name in texts for name in (*pictures, "/a.png")] == [True, True, True]
    assert re.findall(r"<img[^>]*>|[^\"]*/raw[^\"]*", texts) == []


def test_drafts_are_the_reason_if_no_page_of_the_site_changes(team: Team) -> None:
    one = team.edited()
    drafts = [
        {"path": f"content/posts/{name}.md", "action": "create", "content": f"---\ntitle: {title}\n{field}\n---\n"}
        for name, title, field in (("a", "New boat", "draft: true"), ("b", "New pier", "published: false"))
    ]
    team.commit(one, *drafts).ok(201)
    one = team.call(one, "submit").ok()
    for sha in (one["base_sha"], one["head_sha"]):
        add_site(team, sha, BEFORE)
    guest = Guest(team, share(team, one).ok(201))
    client = team.editor.again().client
    with team.world.app.app_context():
        page = client.get(f"/console/projects/{team.project}/changes/{one['id']}").text
    for text in (guest.see().text, page):
        marked = re.findall(r"<bdi>([^<]*)</bdi> <span[^>]*>Draft: visitors do not see the page", text)
        assert ("No page of the site changes." in text, marked) == (True, ["New boat", "New pier"])


def test_writes_of_a_link_are_limited(team: Team) -> None:
    _, guest = reviewed(team)
    guest.named()
    statuses = [guest.send("comments", body=f"Comment {number}").status_code for number in range(31)]
    assert (statuses[:30], statuses[30]) == ([303] * 30, 429)


def test_parallel_verdicts_are_limited(team: Team) -> None:
    _, guest = reviewed(team)
    form = form_of(guest.named().see(), "/verdict") | {"verdict": "approve"}
    cookie = guest.client.get_cookie("review_guest", path=guest.path)
    assert cookie is not None
    for number in range(27):
        guest.send("comments", body=f"Comment {number}")

    def approve() -> int:
        with team.world.app.app_context():
            headers = {"Cookie": f"review_guest={cookie.value}"}
            client = team.world.app.test_client(use_cookies=False)
            answer = client.post(f"{guest.path}/verdict", data=form, headers=headers)
        return answer.status_code

    assert sorted(at_once(8, approve)) == [303] * 3 + [429] * 5


@pytest.mark.parametrize(
    "name", ["", " ", "\u200b", "Gina\r\nBcc: x", "\u202eanig", "see https://x.example/", "x" * 81]
)
def test_name_of_a_guest_is_refused_at_the_field(team: Team, name: str) -> None:
    _, guest = reviewed(team)
    answer = guest.send("name", name=name)
    assert answer.status_code == 400
    assert 'aria-invalid="true"' in answer.text


def test_link_of_one_commit_approves_no_other_one(team: Team) -> None:
    team.configure(guest_approval=True)
    one = team.edited()
    fixed = Guest(team, share(team, one, rights="approve", commit_sha=one["head_sha"]).ok(201)).named()
    team.commit(one, update(PAGE, TEXT.replace("First", "Later"))).ok(201)
    team.call(one, "submit").ok()
    head = team.read(one)["head_sha"]
    assert fixed.send("verdict", verdict="approve", head_sha=head).status_code == 409
    assert team.read(one)["state"] == "in_review"


def test_cookie_of_a_guest_opens_nothing_else(team: Team, app: Flask) -> None:
    """Every route has the same response as without it, also if it is sent as a token."""
    one, guest = reviewed(team)
    guest.named()
    cookie = guest.client.get_cookie("review_guest", path=guest.path)
    assert cookie is not None
    ids = {"projectId": team.project, "project_id": team.project, "org_id": team.organization, "secret": "x" * 43}
    ids["change_set_id"] = one["id"]
    credentials = ({}, {"Cookie": f"review_guest={cookie.value}"}, {"Authorization": f"Bearer {cookie.value}"})
    opened, count, file = [], 0, {"file": PAGE, "ref": one["head_sha"]}
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) & {"GET", "POST", "PUT", "PATCH", "DELETE"}:
            with app.test_request_context():
                values = {name: ids.get(name, "x") for name in rule.arguments}
                path = app.url_map.bind("127.0.0.1").build(rule.endpoint, values, method, append_unknown=False)
            client = app.test_client(use_cookies=False)  # A client with cookies drops the header.
            with app.app_context():
                statuses = [
                    client.open(path, method=method, headers=headers, json={}, query_string=file).status_code
                    for headers in credentials
                ]
            count += 1
            if statuses[1] != statuses[0] or statuses[2] not in (statuses[0], 401):
                opened.append((method, path, statuses))
    assert opened == []
    assert count > 300


class TestSharing:
    """The page on which a member makes the links of a set."""

    def page_of(self, team: Team, one: dict[str, Any]) -> str:
        return f"/console/projects/{team.project}/changes/{one['id']}/links"

    def test_member_makes_copies_and_ends_a_link(self, team: Team, app: Flask) -> None:
        one = team.edited()
        path, client = self.page_of(team, one), team.editor.again().client
        with app.app_context():
            fields = form_of(client.get(path), 'action="' + path + '"')
            made = client.post(path, data=fields | {"receiver": "Anna", "rights": "approve"})
            assert made.status_code == 303
            seen = client.get(made.location)
        [link] = team.owner.get(f"/change-set/{one['id']}/review-links").ok()
        assert (link["receiver"], link["rights"]) == ("Anna", "approve")
        assert f'value="{link["url"]}"' in seen.text
        assert "not opened yet" in seen.text
        assert seen.headers["Cache-Control"] == "no-store"
        with app.app_context():
            assert client.post(f"{path}/{link['id']}/revoke").status_code == 303
            assert link["url"] not in client.get(path).text

    def test_form_with_an_error_keeps_its_values(self, team: Team, app: Flask) -> None:
        one = team.edited()
        path, client = self.page_of(team, one), team.editor.again().client
        with app.app_context():
            answer = client.post(
                path, data={"receiver": "Anna", "rights": "view", "expires_in_days": "7", "email": "x"}
            )
        assert answer.status_code == 400
        assert 'value="Anna"' in answer.text

    def test_links_are_for_publishers(self, team: Team, app: Flask) -> None:
        one = team.edited()
        team.configure(publishers="admins")
        client = team.editor.again().client
        with app.app_context():
            assert client.get(self.page_of(team, one)).status_code == 403
            page = client.get(f"/console/projects/{team.project}/changes/{one['id']}").text
        assert "/links" not in page


QUOTED = "<p>The tide is high.</p><p>The boat waits.</p>"


def test_comment_on_a_text_follows_it_in_later_builds(team: Team) -> None:
    one, guest = reviewed(team)
    add_site(team, one["head_sha"], {"index.html": QUOTED})
    quote = {"exact": "The tide is high.", "prefix": "", "suffix": "The boat"}
    assert guest.named().send("comments", body="Low", page="/", **quote).status_code == 303
    [comment] = team.owner.get(f"/change-set/{one['id']}/comments").ok()
    assert (comment["page"], comment["quote"]) == ("/", quote)
    seen = guest.see().text
    assert "<blockquote" in seen
    assert "The text here changed." not in seen
    add_site(team, one["head_sha"], {"index.html": QUOTED.replace("boat", "ship")})
    assert "The text here changed." in guest.see().text
    with team.world.app.app_context():
        page = team.editor.again().client.get(f"/console/projects/{team.project}/changes/{one['id']}").text
    assert "The text here changed." in page
    add_site(team, one["head_sha"], {"index.html": "<p>Other</p>"})
    assert "This text is no longer on the page." in guest.see().text


@pytest.mark.parametrize("page", ["/%00", "/%ff", "//", "/../..", "/" + "x" * 2047])
def test_comment_on_an_unusual_page_is_shown(team: Team, page: str) -> None:
    one, guest = reviewed(team)
    assert guest.named().send("comments", body="Low", page=page, exact="tide").status_code == 303
    assert "This text is no longer on the page." in guest.see().text
    with team.world.app.app_context():
        answer = team.editor.again().client.get(f"/console/projects/{team.project}/changes/{one['id']}")
    assert answer.status_code == 200


def test_pages_of_a_link_contain_the_script_of_comments(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.console.shell.static_files.content", lambda name: b"script of " + name.encode())
    _, guest = reviewed(team)
    frame = guest.frame()
    page = guest.open_frame(frame)
    script = guest.open_frame(frame + ".galley/guest.js")
    assert page.text.endswith(f'<script src="{frame}.galley/guest.js"></script>'), "a page can have a base URL"
    assert (script.text, script.mimetype) == ("script of guest-frame.js", "text/javascript")
    assert guest.open_frame(frame, **{"If-None-Match": page.headers["ETag"]}).status_code == 304


def test_guest_sees_the_answer_of_a_member(team: Team) -> None:
    one, guest = reviewed(team)
    guest.named().send("comments", body="The tide is wrong", page="/")
    [comment] = team.owner.get(f"/change-set/{one['id']}/comments").ok()
    path = f"/console/projects/{team.project}/changes/{one['id']}"
    with team.world.app.app_context():
        client = team.editor.again().client
        assert "The guest sees your reply" in client.get(path).text
        sent = client.post(f"{path}/comments/{comment['id']}/reply", data={"reply": "We looked at the table."})
    assert sent.status_code == 303
    assert "We looked at the table." in guest.see().text
    answer = team.owner.get(f"/change-set/{one['id']}/comments").ok()[1]
    assert (answer["kind"], answer["page"]) == ("member", "/")


def test_form_that_is_sent_twice_stores_one_comment(team: Team) -> None:
    one, guest = reviewed(team)
    guest.named()
    for body in ("Good", "Good", "Better"):
        assert guest.send("comments", body=body, page="/").status_code == 303
    assert [entry["body"] for entry in team.owner.get(f"/change-set/{one['id']}/comments").ok()] == ["Good", "Better"]


def test_verdict_is_refused_if_the_link_ends_while_the_host_is_read(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, guest = reviewed(team)
    shown = form_of(guest.named().see(), "/verdict")

    def revoke(*arguments: object) -> list[object]:
        team.admin.again().delete(f"/review-link/{guest.link['id']}").ok()
        return []

    monkeypatch.setattr("app.resources.change_set.content.people_of", revoke)
    assert guest.send("verdict", **shown | {"verdict": "approve"}).status_code == 410
    assert team.owner.get(f"/change-set/{one['id']}/reviews").ok() == []


def test_archived_project_shows_no_form_to_guests(team: Team) -> None:
    _, guest = reviewed(team)
    guest.named()
    team.owner.again().patch(f"/project/status/{team.project}", {"status": "archived"}).ok()
    seen = guest.see()
    assert seen.status_code == 200
    assert "/comments" not in seen.text
    assert "/verdict" not in seen.text


def test_second_name_of_a_guest_is_not_counted(team: Team) -> None:
    one, guest = reviewed(team)
    guest.named("Gina").named("Gina Guest")
    [link] = team.owner.get(f"/change-set/{one['id']}/review-links").ok()
    assert link["opened"] == 1


def test_pages_of_a_link_without_comments_have_no_script(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.console.shell.static_files.content", lambda name: b"script")
    _, guest = reviewed(team, rights="view")
    assert guest.open_frame(guest.frame()).text == "<h1>New home</h1>"


def test_parallel_wrong_passwords_count_exactly(team: Team) -> None:
    _, guest = reviewed(team, password="a long password")
    statuses = at_once(8, lambda: Guest(team, guest.link).send("password", password="wrong").status_code)
    assert Counter(statuses) == {400: 5, 429: 3}

"""The pages of sets of changes without scripts: board, page of a set, steps, comments, schedule, conflicts, home."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from werkzeug.test import TestResponse

from app.core import clock
from app.models.change_set import NoticeKind
from app.resources.change_set.schedule import WallTime
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, make_team, update
from tests.support.world import Person, World

GIT_TERMS = re.compile(r"\b(branch|pull request|merge|commit|change set|revert|sha\b)", re.IGNORECASE)
TAGS = re.compile(r"<(script|style|datalist)\b.*?</\1>|<[^>]*>", re.DOTALL)


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


def alert(response: TestResponse) -> list[str]:
    """Return the texts of the error of a page."""
    return re.findall(r'role="alert">.*?<p>(.*?)</p>', response.text, re.DOTALL)


class Reader:
    """A person at the pages of the sets of a project."""

    def __init__(self, team: Team, person: Person) -> None:
        self.team, self.person, self.board = team, person, f"/console/projects/{team.project}/changes"

    def url(self, one: dict[str, Any], path: str = "") -> str:
        return f"{self.board}/{one['id']}{path}"

    def undo_url(self, one: dict[str, Any]) -> str:
        return f"{self.board.rpartition('/')[0]}/undo/{self.team.read(one)['published_sha']}"

    def read(self, path: str) -> str:
        """Return a page as HTML. Its text contains no word of Git."""
        response = self.person.client.get(path)
        assert response.status_code == 200, alert(response)
        text = html.unescape(TAGS.sub(" ", response.text.partition("<main")[2]))
        assert GIT_TERMS.findall(text) == []
        return response.text

    def see(self, one: dict[str, Any], path: str = "") -> str:
        return self.read(self.url(one, path))

    def buttons(self, one: dict[str, Any]) -> set[str]:
        """Return the names of the forms that the page of a set offers, and of the verdicts."""
        page = self.see(one)
        forms = re.findall(rf'action="{self.url(one)}/([a-z-]+)"', page)
        verdicts = re.findall(r'name="verdict" value="(\w+)"', page)
        links = ["schedule"] if f'href="{self.url(one, "/schedule")}"' in page else []
        links += ["undo"] * ("/undo/" in page)
        return {*forms, *verdicts, *links} - {"review", "site"}

    def send(self, one: dict[str, Any], step: str, **fields: str) -> TestResponse:
        return submit(self.person, self.url(one, f"/{step}"), **fields)

    def done(self, one: dict[str, Any], step: str, **fields: str) -> str:
        """Send a form, follow its redirect and return the notice."""
        sent = self.send(one, step, **fields)
        assert sent.status_code == 303, alert(sent)
        [notice] = re.findall(r'class="toast" role="status"><p>(.*?)</p>', self.read(sent.location.partition("#")[0]))
        return html.unescape(notice)


@pytest.fixture
def editor(team: Team) -> Reader:
    return Reader(team, team.editor)


@pytest.fixture
def reviewer(team: Team) -> Reader:
    return Reader(team, team.reviewer)


COMMENT, OPEN = {"comment"}, {"details", "close", "move"}
BUTTONS: tuple[tuple[str, dict[str, set[str]]], ...] = (
    ("draft", {"editor": {"submit", *COMMENT, *OPEN}, "reviewer": {"submit", *COMMENT, *OPEN}}),
    ("in_review", {"editor": {*COMMENT, *OPEN}, "reviewer": {"approve", "changes", *COMMENT, *OPEN}}),
    (
        "approved",
        {
            "editor": {"publish", "schedule", *COMMENT, *OPEN},
            "reviewer": {"publish", "schedule", "changes", *COMMENT, *OPEN},
        },
    ),
    ("published", {"editor": {"undo", "schedule", *COMMENT}, "reviewer": {"undo", "schedule", *COMMENT}}),
)


def reach(team: Team, state: str) -> dict[str, Any]:
    """Create a set in a state."""
    if state == "in_review":
        return team.call(team.edited(), "submit").ok()
    made: Callable[[], dict[str, Any]] = {"draft": team.edited, "approved": team.approved}.get(state, team.published)
    return made()


@pytest.mark.one_database
class TestPageOfASet:
    @pytest.mark.parametrize(("state", "expected"), BUTTONS, ids=[state for state, _ in BUTTONS])
    def test_buttons_are_those_that_the_reader_may_use(
        self, team: Team, editor: Reader, reviewer: Reader, state: str, expected: dict[str, set[str]]
    ) -> None:
        made = reach(team, state)
        comments = {"comments"}  # The form for the changed page.
        assert editor.buttons(made) - comments == expected["editor"]
        assert reviewer.buttons(made) - comments == expected["reviewer"]
        team.configure(publishers="admins")
        publishing = {"publish", "schedule"}
        assert editor.buttons(made) - comments == expected["editor"] - publishing
        assert Reader(team, team.admin).buttons(made) >= expected["editor"] - {"submit"}
        team.owner.again().patch(f"/project/status/{team.project}", {"status": "archived"}).ok()
        assert editor.buttons(made) == set()

    def test_page_shows_titles_values_and_marked_text(self, team: Team, editor: Reader) -> None:
        made = team.new("Words of spring", description="For the season.")
        new = TEXT.replace("[a, b]", "[a, c]").replace("First", "Fresh")
        added = {
            "path": "content/posts/spring.md",
            "action": "create",
            "content": "---\ntitle: Spring\n---\nIt is warm.\n",
        }
        team.commit(made, update(PAGE, new), added, {"path": OTHER, "action": "delete"}).ok(201)
        team.world.work_off()
        page = editor.see(made)
        titles = re.findall(r'id="page-\d"><bdi>(.*?)</bdi>', page)
        assert titles == ["About", "Hello", "Spring"]
        for text in ("For the season.", "<del>b</del>", "<ins>c</ins>", "<del>First</del>", "<ins>Fresh</ins>"):
            assert text in page
        assert "<p>It is warm.</p>" in page
        edits = re.findall(r'href="[^"]*/edit/([^"?]+)\?set=([^"]+)"', page)
        paths = (PAGE, "content/posts/spring.md")
        assert edits == [(path, made["id"] + more) for path in paths for more in ("&amp;panel=preview", "")]

    def test_changed_page_is_seen_in_the_preview_of_its_set(self, team: Team, editor: Reader) -> None:
        made = team.edited()
        picture = {"path": "static/pier.png", "action": "create", "content": "iVBORwA=", "encoding": "base64"}
        team.commit(made, picture).ok(201)
        [link] = re.findall(r'href="([^"]+panel=preview)"', editor.see(made))
        shown = editor.person.client.get(html.unescape(link)).text
        [panel] = re.findall(r'<div[^>]* data-panel-part="preview"[^>]*>', shown)
        assert (f'data-branch="{made["branch"]}"' in panel, " hidden" in panel, "New words." in shown) == (
            True,
            False,
            True,
        )

    def test_pages_beyond_the_first_ones_are_opened_by_a_link(self, team: Team, editor: Reader) -> None:
        made = team.new()
        files = [{"path": f"content/p{n}.md", "action": "create", "content": f"# Page {n}\n"} for n in range(5)]
        team.commit(made, *files).ok(201)
        page = editor.see(made)
        assert page.count("<h1>Page") == 3
        link = editor.url(made, "/pages/content/p4.md")
        assert f'<a href="{link}">' in page
        assert "<h1>Page 4</h1>" in editor.read(link)
        assert "do not change this page" in editor.see(made, f"/pages/{OTHER}")
        assert editor.person.client.get(editor.url(made, "/pages/none.md")).status_code == 404

    def test_unresolved_comments_are_named_with_links_before_the_approval(
        self, team: Team, editor: Reader, reviewer: Reader
    ) -> None:
        made, bodies = reach(team, "in_review"), {"Which words?": PAGE, "And the title?": None, "Gone now": OTHER}
        ids = [
            team.call(made, "comments", {"body": body, "path": path}, by=team.reviewer).ok(201)["id"]
            for body, path in bodies.items()
        ]
        assert team.read(made)["unresolved_comments"] == 3
        assert editor.done(made, f"comments/{ids[1]}", resolved="1") == "Saved"
        page = reviewer.see(made)
        before, _button, _rest = page.rpartition('name="verdict" value="approve"')
        assert "2 comments are not resolved" in before.rpartition('id="review-form"')[2]
        for id_, body, title in ((ids[0], "Which words?", "Hello"), (ids[2], "Gone now", "About")):
            link = rf'<a href="#{id_}"><bdi>“{re.escape(body)}”</bdi></a> <span class="muted"><bdi>{title}<'
            assert len(re.findall(link, page)) == 2  # In the notice at the top, too.
            assert page.count(f'id="{id_}"') == 1
        sent = form_of(reviewer.person.client.get(reviewer.url(made)), "/review")
        assert reviewer.done(made, "review", **sent | {"verdict": "approve"}) == "Approved"
        assert team.read(made)["unresolved_comments"] == 2

    def test_title_and_description_change_and_a_refused_value_stays_in_the_form(
        self, team: Team, editor: Reader
    ) -> None:
        made = team.edited()
        sent = form_of(editor.person.client.get(editor.url(made)), "/details") | {"description": ""}
        assert sent == {"title": "New words", "description": ""}
        assert editor.done(made, "details", title="Better words", description="Why") == "Saved"
        assert "Why" in editor.see(made)
        refused = editor.send(made, "details", title="x" * 201, description="Kept")
        assert refused.status_code == 400
        assert f'value="{"x" * 201}"' in refused.text
        assert "Kept</textarea>" in refused.text
        assert 'id="title-error"' in refused.text

    def test_step_in_another_state_shows_the_page_with_the_reason(self, team: Team, editor: Reader) -> None:
        made = team.published()
        refused = editor.send(made, "submit")
        assert refused.status_code == 409
        assert "These changes have moved on" in refused.text

    def test_deleted_texts_of_a_closed_set_are_reported(self, team: Team, editor: Reader) -> None:
        made = team.edited()
        assert editor.done(made, "close") == "Closed"
        page = editor.see(made)
        assert "The texts of these changes were deleted." in page
        assert editor.buttons(made) == set()
        pushed = team.edited("Other words")
        team.repo.git("branch", "-D", pushed["branch"])
        assert "The texts of these changes were deleted." in editor.see(pushed)

    def test_set_of_another_project_or_organization_is_not_shown(self, team: Team, editor: Reader) -> None:
        made, other = team.edited(), make_team(team.world)
        assert Reader(team, team.stranger).person.client.get(editor.url(made)).status_code == 404
        assert editor.person.client.get(editor.url(other.edited())).status_code == 404
        foreign = f"/console/projects/{other.project}/changes/{made['id']}"
        assert editor.person.client.get(foreign).status_code == 404


class TestSteps:
    def test_two_people_propose_comment_approve_publish_and_take_back(
        self, team: Team, editor: Reader, reviewer: Reader
    ) -> None:
        created = submit(team.editor, editor.board, title="Words of spring", description="")
        made = {"id": created.location.rpartition("/")[2].partition("?")[0]} | {"branch": ""}
        made = team.read(made)
        assert "These changes are empty." in editor.see(made)
        team.commit(made, update(PAGE, TEXT.replace("First", "Fresh"))).ok(201)
        assert editor.done(made, "submit") == "In review"
        assert "A colleague has to review these changes" in editor.see(made)

        board = reviewer.read(reviewer.board)
        assert "Waits for me" in board
        assert "Waits for me: 1" in board
        assert "Waits for me" not in editor.read(editor.board)
        assert editor.url(made) in reviewer.read("/console")
        assert editor.url(made) not in editor.read("/console")

        page = reviewer.see(made)
        block = html.unescape(re.findall(r'<option value="(block:\w+)">', page)[0])
        for part, label in (("", None), ("pointer:/title", "Title"), (block, "“Fresh words.”")):
            assert reviewer.done(made, "comments", page=PAGE, part=part, body="Which words?") == "Saved"
            assert label is None or f"<bdi>{label}</bdi>" in reviewer.see(made)
        assert reviewer.done(made, "review", verdict="comment", text="Nice.\nReally.") == "Saved"
        comment = re.findall(r'action="[^"]*/comments/(cmt_\w+)"', editor.see(made))[0]
        assert editor.done(made, f"comments/{comment}", resolved="1") == "Saved"
        assert editor.see(made).count("Resolved") == 1
        assert editor.done(made, f"comments/{comment}") == "Saved"
        assert "Resolved" not in editor.see(made)

        head = team.read(made)["head_sha"]
        assert reviewer.done(made, "review", verdict="changes", text="Less.", head_sha=head) == "Changes requested"
        assert editor.url(made) in editor.read("/console")
        team.commit(made, update(PAGE, TEXT.replace("First", "Few"))).ok(201)
        assert "A paragraph that has changed since" in editor.see(made)
        editor.done(made, "submit")
        stale = reviewer.send(made, "review", verdict="approve", text="Typed", head_sha=head)
        assert stale.status_code == 409
        assert "Typed</textarea>" in stale.text
        sent = form_of(reviewer.person.client.get(reviewer.url(made)), "/review")
        assert reviewer.done(made, "review", **sent | {"verdict": "approve"}) == "Approved"
        assert editor.done(made, "publish") == "Published"
        assert team.repo.show(PAGE).decode() == TEXT.replace("First", "Few")

        assert "<b><bdi>Words of spring</bdi></b>" in editor.read(editor.undo_url(made))
        taken = submit(team.editor, editor.undo_url(made), next=editor.url(made))
        assert taken.location.startswith(f"{editor.url(made)}?done=taken-back&undo=")
        assert "have been taken back" in editor.read(taken.location)
        assert team.repo.show(PAGE).decode() == TEXT

    def test_home_and_navigation_count_sets_that_wait_for_the_reader(
        self, team: Team, editor: Reader, reviewer: Reader
    ) -> None:
        team.configure(required_approvals=2)
        made = team.edited("Waiting words")
        team.call(made, "submit").ok()
        own = team.new("Admin words", by=team.admin)
        team.commit(own, update(OTHER, "# About\n\nThem.\n"), by=team.admin).ok(201)
        team.call(own, "submit", by=team.admin).ok()
        team.commit(own, update(PAGE, TEXT.replace("First", "x")), by=team.reviewer).ok(201)
        waits = {
            name: re.findall(r"<bdi>((?:Waiting|Admin) words)</bdi></a>", Reader(team, person).read("/console"))
            for name, person in (("editor", team.editor), ("reviewer", team.reviewer), ("owner", team.owner))
        }
        assert waits == {
            "editor": ["Admin words"],
            "reviewer": ["Waiting words"],
            "owner": ["Waiting words", "Admin words"],
        }
        sent = form_of(reviewer.person.client.get(reviewer.url(made)), "/review")
        reviewer.done(made, "review", **sent | {"verdict": "approve"})
        assert "Waiting words" not in reviewer.read("/console")
        assert "1 of 2 approvals" in reviewer.see(made)
        assert "Waits for me: 2" in Reader(team, team.owner).person.client.get(reviewer.board).text
        team.owner.again().patch(f"/project/status/{team.project}", {"status": "archived"}).ok()
        assert "Admin words" not in editor.read("/console")


@pytest.mark.one_database
class TestBoard:
    def test_board_has_a_column_for_each_group_of_states_and_lists_the_others(
        self, team: Team, editor: Reader, reviewer: Reader
    ) -> None:
        titles = {state: f"Words {state}" for state in ("draft", "in_review", "approved", "published", "closed")}
        for number, (state, title) in enumerate(titles.items()):
            text = TEXT.replace("First", f"F{number}")
            made = {"approved": team.approved, "published": team.published}.get(state, team.edited)(title, text)
            if state == "in_review":
                team.call(made, "submit").ok()
            if state == "closed":
                team.owner.again().delete(f"/change-set/{made['id']}").ok()
        page = editor.read(editor.board)
        columns = dict(re.findall(r'<section[^>]*aria-labelledby="column-(\w+)">(.*?)</section>', page, re.DOTALL))
        shown = {name: re.findall(r"<bdi>(Words \w+)</bdi></a>", column) for name, column in columns.items()}
        assert shown == {
            **{name: [titles[name]] for name in ("draft", "in_review", "approved", "published")},
            "scheduled": [],
        }
        assert titles["closed"] in editor.read(f"{editor.board}?state=closed")
        assert titles["draft"] not in reviewer.read(f"{reviewer.board}?mine=1")
        assert ">None<" in reviewer.read(f"{reviewer.board}?state=published&mine=1")
        assert editor.person.client.get(f"{editor.board}?state=none").status_code == 400

    def test_refused_title_is_shown_at_its_field(self, editor: Reader) -> None:
        refused = submit(editor.person, editor.board, title=" ", description="Kept")
        assert refused.status_code == 400
        assert 'id="title-error"' in refused.text
        assert "Kept</textarea>" in refused.text


class TestSchedule:
    def test_time_is_stored_in_one_step_and_shown_in_its_zone_and_that_of_the_reader(
        self, team: Team, editor: Reader
    ) -> None:
        made, year = team.approved(), clock.now().year + 1
        sent = form_of(editor.person.client.get(editor.url(made, "/schedule")), 'id="schedule"')
        sent |= {"date": f"{year}-07-01", "timezone": "Pacific/Chatham"}
        assert editor.done(made, "schedule", **sent) == "Saved"
        stored = team.read(made)
        assert (stored["state"], stored["schedule"]["wall_time"]) == ("scheduled", f"{year}-07-01T09:00")
        page = editor.see(made)
        assert re.search(r"9:00\sAM \(Pacific/Chatham\) · Your time zone: [^<]* 8:15\sPM", page)  # UTC+12:45 in winter.
        again = form_of(editor.person.client.get(editor.url(made, "/schedule")), 'id="schedule"')
        assert again == sent
        assert editor.done(made, "unschedule") == "Saved"
        assert team.read(made)["state"] == "approved"

    @pytest.mark.one_database
    @pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])  # Their days differ.
    def test_suggested_time_is_tomorrow_morning_in_the_zone_of_the_user(
        self, team: Team, editor: Reader, zone: str
    ) -> None:
        made, person = team.approved(), editor.person
        person.patch(f"/user-preference/timezone/{person.id}", {"timezone": zone}).ok()
        tomorrow = clock.now().astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
        typed = form_of(person.client.get(editor.url(made, "/schedule")), 'id="schedule"')
        assert typed == {"date": str(tomorrow), "time": "09:00", "timezone": zone, "choice": "earlier"}

    @pytest.mark.one_database
    def test_skipped_time_has_two_choices_and_a_repeated_one_is_the_first(self, team: Team, editor: Reader) -> None:
        made = team.approved()
        gap, twice = (f"{next_change(is_gap=is_gap):%Y-%m-%d}" for is_gap in (True, False))
        typed = {"time": "02:30", "timezone": "Europe/Berlin", "choice": "earlier"}
        refused = editor.send(made, "schedule", date=gap, **typed)
        assert refused.status_code == 400
        assert "The clocks of this time zone skip this time" in refused.text
        assert 'name="time" type="time" value="02:30"' in refused.text
        assert re.findall(r'name="time" value="([^"]*)"', refused.text) == ["01:59", "03:00"]
        assert team.read(made)["schedule"] is None
        assert editor.done(made, "schedule", date=gap, **typed | {"time": "03:00"}) == "Saved"
        assert editor.done(made, "schedule", date=twice, **typed) == "Saved"
        due = WallTime(f"{twice}T02:30", "Europe/Berlin", "earlier").instant
        assert datetime.fromisoformat(team.read(made)["schedule"]["due_at"]) == due
        assert "(GMT+02:00) (Europe/Berlin)" in editor.see(made)
        assert editor.done(made, "schedule", date=twice, **typed | {"choice": "later"}) == "Saved"
        assert form_of(editor.person.client.get(editor.url(made, "/schedule")), 'id="schedule"')["choice"] == "later"
        assert "(GMT+01:00) (Europe/Berlin)" in editor.see(made)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("date", "time", "zone", "field", "message"),
        [
            ("2020-01-01", "10:00", "UTC", "time", "This time is not in the future"),
            ("2999-01-01", "10:00", "UTC", "time", "This time is more than five years away"),
            ("2999-01-01", "10:00", "Moon/Sea", "timezone", "This time zone does not exist"),
            ("soon", "", "UTC", "time", "Enter a date and a time"),
        ],
    )
    def test_wrong_time_stays_in_the_form(
        self, team: Team, editor: Reader, date: str, time: str, zone: str, field: str, message: str
    ) -> None:
        refused = editor.send(team.approved(), "schedule", date=date, time=time, timezone=zone)
        assert refused.status_code == 400
        assert message in refused.text
        assert f'id="{field}-error"' in refused.text
        assert f'type="date" value="{date}"' in refused.text

    @pytest.mark.one_database
    def test_published_set_is_taken_back_later(self, team: Team, editor: Reader) -> None:
        made = team.published()
        sent = {"date": f"{clock.now().year + 1}-01-01", "time": "10:00", "timezone": "UTC", "choice": ""}
        assert editor.done(made, "schedule", **sent) == "Saved"
        assert team.read(made)["schedule"]["action"] == "unpublish"
        assert "They are taken back on" in editor.see(made)
        draft = team.edited("Draft words", TEXT.replace("Second", "2"))
        assert editor.person.client.get(editor.url(draft, "/schedule")).location == editor.url(draft)


def next_change(*, is_gap: bool) -> datetime:
    """Return the next day in Berlin on which the clocks skip or repeat 02:30: a last Sunday of March or October."""
    month, year = (3 if is_gap else 10), clock.now().year
    days = [datetime(year + ahead, month, day, tzinfo=UTC) for ahead in range(2) for day in range(25, 32)]
    return next(day for day in days if day.weekday() == 6 and day > clock.now())


class TestConflicts:
    def conflicting(self, team: Team) -> dict[str, Any]:
        """Create an approved set that changes a field, a list, a paragraph and a removed page as the site does."""
        made = team.new()
        mine = TEXT.replace("Hello", "Mine").replace("[a, b]", "{x: 1}").replace("First words.", "My words.")
        team.commit(made, update(PAGE, mine), update(OTHER, "# About\n\nMine.\n")).ok(201)
        theirs = TEXT.replace("Hello", "Theirs").replace("[a, b]", "{x: 2}").replace("First words.", "Their words.")
        team.repo.commit({PAGE: theirs.encode(), OTHER: None}, "Site")
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        return team.read(made)

    def test_conflicts_are_chosen_by_field_paragraph_and_page(self, team: Team, editor: Reader) -> None:
        made = self.conflicting(team)
        led = editor.send(made, "publish")
        assert led.location == editor.url(made, "/conflicts")
        page = editor.see(made, "/conflicts")
        assert len(re.findall(r'name="path-\d"', page)) == 4
        sent = form_of(editor.person.client.get(led.location), "/conflicts")
        named = {sent[f"at-{n}"]: n for n in range(4)}
        title, nested, text, whole = (
            next(number for at, number in named.items() if part in at) for part in ("/title", "/tags", "block", "{}")
        )
        partial = {name: value for name, value in sent.items() if not name.startswith("value-")}
        choices = {f"take-{title}": "value", f"value-{title}": "Ours", f"take-{nested}": "theirs"}
        refused = submit(editor.person, led.location, **partial | choices)
        assert refused.status_code == 409
        assert "Ours</textarea>" in refused.text
        assert f'name="take-{title}" value="value" required checked' in refused.text
        choices |= {f"take-{text}": "value", f"value-{text}": "Our words.\r\n", f"take-{whole}": "mine"}
        stale = submit(editor.person, led.location, **partial | choices | {"site_sha": made["base_sha"]})
        assert stale.status_code == 409
        assert team.read(made)["head_sha"] == made["head_sha"]
        stored = submit(editor.person, led.location, **partial | choices)
        assert stored.location.endswith("?done=resolved")
        now = team.read(made)
        shown = team.repo.show(PAGE, now["branch"]).decode()
        expected = TEXT.replace("Hello", "Ours").replace("[a, b]", "{x: 2}").replace("First words.", "Our words.")
        assert shown == expected
        assert team.repo.show(OTHER, now["branch"]).decode() == "# About\n\nMine.\n"
        assert now["state"] == "in_review"
        assert editor.person.client.get(led.location).location == editor.url(made)

    @pytest.mark.one_database
    def test_conflicts_show_pictures_and_new_words(self, team: Team, editor: Reader) -> None:
        text = TEXT.replace("title:", "cover: /a.png\nintro: The pier is open today\ntitle:", 1)
        team.repo.commit({PAGE: text.encode(), "static/a.png": b"a"})
        made = team.new()
        team.commit(made, update(PAGE, text.replace("/a.png", "/none.png").replace("open", "closed"))).ok(201)
        theirs = text.replace("/a.png", "/b.png").replace("open", "empty")
        team.repo.commit({PAGE: theirs.encode(), "static/b.png": b"b"})
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        editor.send(made, "publish")
        page = editor.see(made, "/conflicts")
        [(url, text)] = re.findall(r'compare__picture" src="([^"]*)" alt="([^"]*)"', page)
        assert (url.endswith(f"raw?ref={team.repo.head()}&amp;file=static/b.png"), text) == (True, "On the site: Cover")
        assert page.count("This picture does not exist.") == 1
        added = '<bdi class="visually-hidden">added: </bdi><ins>'
        assert f"The pier is {added}closed</ins> today" in page
        assert f"The pier is {added}empty</ins> today" in page

    @pytest.mark.one_database
    def test_conflicts_of_lists_show_the_changed_items_and_no_file_name(self, team: Team, editor: Reader) -> None:
        tea, milk, cake = "- {name: Tea, price: 2}", "- {name: Milk, price: 1}", "- {name: Cake, price: 4}"

        def page_of(note: str, *items: str) -> str:
            return TEXT.replace("title:", "menu:\n{}\nnote: {}\ntitle:".format("\n".join(items), note), 1)

        team.repo.commit({PAGE: page_of("Open", tea, milk, cake).encode()})
        made = team.new()
        team.commit(made, update(PAGE, page_of("null", cake, tea, milk))).ok(201)
        team.repo.commit({PAGE: page_of("Closed", milk, tea, cake).encode()})
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        editor.send(made, "publish")
        page = editor.see(made, "/conflicts")
        assert page.count('class="list conflict__items"') == 2
        assert page.count('<span class="badge">moved</span>') >= 2
        sides = page[page.index("<fieldset") :]
        assert f">{PAGE.rpartition('/')[2]}<" not in sides
        assert '<p class="muted">Not set</p>' in sides

    @pytest.mark.one_database
    def test_proposal_that_takes_changes_back_is_the_only_one(self, team: Team, editor: Reader) -> None:
        made = team.published()
        team.configure(publishers="admins")
        assert "This proposes the change below." in editor.read(editor.undo_url(made))
        proposed = submit(team.editor, editor.undo_url(made)).location
        assert proposed.endswith("?done=proposed")
        first = proposed.partition("?")[0]
        assert "undo" not in editor.buttons(made)
        assert f'href="{first}">“Take back “New words”” takes these changes back already' in editor.see(made)
        assert submit(team.admin, editor.undo_url(made)).location == f"{first}?done=taken-back-before"
        editor.send({"id": first.rpartition("/")[2]}, "close")
        assert "undo" in editor.buttons(made)

    @pytest.mark.one_database
    def test_publication_without_approvals_names_the_next_step(self, team: Team, editor: Reader) -> None:
        refused = editor.send(team.edited(), "publish")
        assert (refused.status_code, "Ask other people for a review" in refused.text) == (409, True)

    @pytest.mark.one_database
    def test_take_back_that_conflicts_with_later_changes_is_a_proposal_with_its_conflicts(
        self, team: Team, editor: Reader
    ) -> None:
        made = team.published()
        later = TEXT.replace("First", "Later").encode()
        team.repo.commit({PAGE: later}, "Later")
        led = submit(team.editor, editor.undo_url(made))
        assert led.location.endswith("/conflicts?done=undo-conflicts")
        page = editor.read(led.location)
        assert "Later changes touch the same texts." in page
        assert ">First words." in page
        assert ">Later words." in page
        assert team.repo.show(PAGE) == later


@pytest.mark.one_database
def test_settings_of_review_and_publishing_are_changed(team: Team) -> None:
    url = f"/console/projects/{team.project}/settings"
    sent = form_of(team.owner.client.get(url), "/settings/publishing")
    assert sent == {"publishers": "editors", "required_approvals": "1", "change_set_prefix": "galley"}
    values = {
        "publishers": "admins",
        "required_approvals": "3",
        "require_change_sets": "1",
        "change_set_prefix": "site",
    }
    assert submit(team.owner, f"{url}/publishing", **values).location == f"{url}?done=saved"
    shown = team.owner.again().get(f"/project/{team.project}").ok()
    stored = {name: shown[name] for name in values}
    assert stored == {
        "publishers": "admins",
        "required_approvals": 3,
        "require_change_sets": True,
        "change_set_prefix": "site",
    }
    for name, value in (("required_approvals", "9"), ("change_set_prefix", "a..b"), ("publishers", "x")):
        assert submit(team.owner, f"{url}/publishing", **values | {name: value}).status_code == 400
    assert submit(team.editor, f"{url}/publishing", **values).status_code == 403
    assert "settings/publishing" not in team.editor.client.get(url).text


def badge_of(page: str) -> list[str]:
    """Return the number of unread news that the navigation shows."""
    return re.findall(r'/console/for-you".*?aria-hidden="true">(\d+)<', page.partition("<main")[0].replace("\n", ""))


class TestForYou:
    def test_news_are_read_with_their_set(self, team: Team, editor: Reader, reviewer: Reader) -> None:
        made, other = team.edited("Spring <b>"), team.edited("Autumn")
        for one in (made, other):
            editor.done(one, "submit")
        page = reviewer.read("/console/for-you")
        assert badge_of(page) == ["2"]
        assert page.index("asks you to review “Autumn”") < page.index("asks you to review “Spring &lt;b&gt;”")
        assert badge_of(editor.read("/console")) == []
        reviewer.done(made, "review", verdict="changes", text="Shorter, please", head_sha=made["head_sha"])
        assert badge_of(reviewer.see(made)) == ["1"]
        assert badge_of(reviewer.read("/console")) == ["2"], "a GET marks nothing as read"
        assert 'hx-post="/console/for-you/read"' in reviewer.see(made)
        assert submit(reviewer.person, "/console/for-you/read", change_set_id=made["id"]).status_code == 303
        assert 'hx-post="/console/for-you/read"' not in reviewer.see(made)
        assert badge_of(reviewer.read("/console")) == ["1"]
        assert "Shorter, please" in editor.read("/console/for-you")
        assert submit(reviewer.person, "/console/for-you/read").location == "/console/for-you"
        assert badge_of(reviewer.read("/console/for-you")) == []

    def test_kinds_of_mails_are_switched_off(self, reviewer: Reader) -> None:
        path, client = "/console/account/notices", reviewer.person.client
        page = client.get(path).text
        assert page.count('name="mailed"') == page.count(" checked>") == len(NoticeKind)
        sent = client.post(path, data={"mailed": ["comment", "mentioned"]})
        assert sent.location.endswith("/account/notices?done=saved")
        assert re.findall(r'value="(\w+)" checked', client.get(path).text) == ["comment", "mentioned"]


class TestMove:
    def test_page_is_moved_to_another_set_and_to_a_new_one(self, team: Team, editor: Reader) -> None:
        made, other = team.edited(), team.new("Other")
        team.commit(made, update(OTHER, "# Us\n")).ok(201)
        shown = editor.see(made)
        assert f'action="{editor.url(made)}/move"' in shown
        assert f'<option value="{other["id"]}"' in shown
        assert f'<option value="{made["id"]}"' not in shown
        assert editor.done(made, "move", moved=PAGE, **{"change-set": other["id"]}) == "Moved"
        assert (team.read(made)["files"], team.read(other)["files"]) == (1, 1)
        editor.send(made, "move", moved=OTHER, **{"change-set": "new", "change-set-title": "About us"})
        newest = team.owner.again().get(team.sets).ok()[0]
        assert (newest["title"], newest["files"], team.read(made)["files"]) == ("About us", 1, 0)

    def test_refused_move_creates_nothing_and_says_why(self, team: Team, editor: Reader) -> None:
        made, other = team.edited(), team.edited("Other", TEXT.replace("First", "Last"))
        refused = editor.send(made, "move", moved=PAGE, **{"change-set": other["id"]})
        assert alert(refused) == ["The other changes touch the same places. Nothing was moved"]
        editor.send(made, "move", moved="content/none.md", **{"change-set": "new", "change-set-title": "None"})
        assert [one["title"] for one in team.owner.again().get(team.sets).ok()] == ["Other", "New words"]
        assert (team.read(made)["files"], team.read(other)["files"]) == (1, 1)

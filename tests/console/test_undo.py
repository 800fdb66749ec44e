"""The undo of changes of the site: of any commit, of a published set, and with the button in a message."""

import html
import re
from functools import partial

import pytest
from werkzeug.test import TestResponse

from app.core.limits import CommitLimits
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, make_team
from tests.resources.change_set.test_late_records import broken, log_of
from tests.support.interleaving import before_statement
from tests.support.parallel import together
from tests.support.world import Person, World

NEW = TEXT.replace("First", "New")
PERSON = "-c", "user.name=Ada", "-c", "user.email=ada@example.org"
STRIDE, MAX_STATEMENTS = 5, 150


@pytest.fixture
def team(world: World) -> Team:
    return make_team(world)


def base(team: Team) -> str:
    return f"/console/projects/{team.project}"


def changed(team: Team, text: str = NEW, message: str = "Edit") -> str:
    """Commit a new text of the page with Git, and return the commit."""
    team.repo.commit({PAGE: text.encode()}, message)
    return team.repo.head()


def undo(team: Team, sha: str, *, by: Person | None = None, **fields: str) -> TestResponse:
    return submit((by or team.editor).again(), f"{base(team)}/undo/{sha}", **fields)


def save(team: Team, word: str) -> None:
    """Change another paragraph of the present text of the page."""
    changed(team, team.repo.show(PAGE).decode().replace("Second", word), "Later")


def commits_since(team: Team, sha: str) -> int:
    return int(team.repo.text("rev-list", "--count", f"{sha}..main"))


class TestCommit:
    def test_undo_keeps_later_changes_of_the_page_and_is_a_commit_of_its_own(self, team: Team) -> None:
        sha = changed(team, message="Edit the words\n\nBecause.")
        later = changed(team, NEW.replace("[a, b]", "[a, b, c]").replace("Second", "2nd"))
        listed = team.editor.client.get(f"{base(team)}/history/{PAGE}").text
        [link] = re.findall(rf'href="([^"]*/undo/{sha}[^"]*)"', listed)
        question = team.editor.client.get(html.unescape(link)).text
        for text in (
            "<bdi>Edit the words</bdi>",
            "<del>New</del>",
            "<ins>First</ins>",
            "This changes the site at once.",
        ):
            assert text in question
        done = submit(team.editor, link, **form_of(team.editor.client.get(html.unescape(link)), 'id="undo"'))
        head = team.repo.head()
        assert done.location == f"{base(team)}/history/{PAGE}?done=undone&undo={head}"
        assert team.repo.show(PAGE).decode() == TEXT.replace("[a, b]", "[a, b, c]").replace("Second", "2nd")
        assert (commits_since(team, later), team.repo.text("log", "-1", "--format=%s", "main").strip()) == (
            1,
            "Undo: Edit the words",
        )
        team.world.work_off()
        assert log_of(team, head) == [("update", "commit", team.editor.id)]
        assert ">Redo</button>" in team.editor.client.get(done.location).text
        undo(team, head)
        assert team.repo.show(PAGE).decode().count("New words") == 1

    @pytest.mark.one_database
    def test_second_undo_changes_nothing(self, team: Team) -> None:
        sha = changed(team)
        undo(team, sha)
        head = team.repo.head()
        assert undo(team, sha).location == f"{base(team)}/history?done=unchanged"
        assert team.repo.head() == head

    @pytest.mark.one_database
    @pytest.mark.parametrize("setting", [{"require_change_sets": True}, {"publishers": "admins"}])
    def test_undo_is_a_proposal_where_the_member_only_proposes(self, team: Team, setting: dict[str, object]) -> None:
        sha = changed(team)
        team.configure(**setting)
        assert "This proposes the change below." in team.editor.client.get(f"{base(team)}/undo/{sha}").text
        proposed = undo(team, sha)
        assert re.fullmatch(rf"{base(team)}/changes/chg_\w+\?done=proposed", proposed.location)
        assert "Undo: Edit" in team.editor.client.get(proposed.location).text
        assert team.repo.head() == sha

    @pytest.mark.one_database
    def test_conflict_with_later_changes_is_a_proposal_and_the_page_says_so(self, team: Team) -> None:
        sha = changed(team)
        head = changed(team, NEW.replace("New", "Newer"))
        led = undo(team, sha)
        assert led.location.endswith("/conflicts?done=undo-conflicts")
        page = team.editor.client.get(led.location).text
        assert "Later changes touch the same texts. The site has not changed." in page
        assert team.repo.head() == head
        sent = form_of(team.editor.client.get(led.location), "/conflicts") | {"take-0": "mine"}
        url = led.location.partition("/conflicts")[0]
        assert submit(team.editor, f"{url}/conflicts", **sent).location == f"{url}?done=resolved"
        team.configure(required_approvals=0)
        assert submit(team.editor, f"{url}/publish").location == f"{url}?done=published"
        assert team.repo.show(PAGE).decode() == TEXT

    @pytest.mark.one_database
    def test_merge_is_undone_relative_to_its_first_parent(self, team: Team) -> None:
        start = team.repo.head()
        team.repo.git("branch", "side", start)
        team.repo.commit({OTHER: b"# About\n\nThem.\n"}, "On the side", branch="side")
        changed(team)
        tree = team.repo.text("merge-tree", "--write-tree", "main", "side").split()[0]
        merge = team.repo.text(*PERSON, "commit-tree", tree, "-p", "main", "-p", "side", "-m", "Merge").strip()
        team.repo.git("update-ref", "refs/heads/main", merge)
        undo(team, merge)
        assert (team.repo.show(OTHER), team.repo.show(PAGE)) == (b"# About\n\nUs.\n", NEW.encode())

    @pytest.mark.one_database
    def test_deletion_of_more_bytes_than_a_commit_takes_is_undone(self, team: Team) -> None:
        pictures = {f"content/pier/{number}.bin": bytes([number]) * (CommitLimits.bytes // 2) for number in range(3)}
        team.repo.commit({**pictures, "content/pier/run.sh": ("100755", b"Run\n")}, "Add")
        before = team.repo.entries()
        team.repo.commit(dict.fromkeys([*pictures, "content/pier/run.sh"]), "Remove")
        assert "done=undone" in undo(team, team.repo.head()).location
        assert team.repo.entries() == before

    @pytest.mark.one_database
    def test_move_of_as_many_files_as_a_commit_takes_is_undone(self, team: Team) -> None:
        files = {f"content/old/{number}.md": b"%d\n" % number for number in range(CommitLimits.files)}
        team.repo.commit(files, "Add")
        before = team.repo.entries()
        new = {path.replace("/old/", "/new/"): data for path, data in files.items()}
        team.repo.commit(dict.fromkeys(files) | new, "Move")
        assert "done=undone" in undo(team, team.repo.head()).location
        assert team.repo.entries() == before

    @pytest.mark.one_database
    def test_deletion_is_undone_although_a_file_exists_again(self, team: Team) -> None:
        team.repo.commit({PAGE: None, OTHER: None}, "Remove")
        sha = team.repo.head()
        team.repo.commit({OTHER: b"# About\n\nUs.\n"}, "Add the same")
        assert "done=undone" in undo(team, sha).location
        assert (team.repo.show(PAGE), team.repo.show(OTHER)) == (TEXT.encode(), b"# About\n\nUs.\n")

    @pytest.mark.one_database
    def test_undo_of_a_deletion_conflicts_with_another_new_file(self, team: Team) -> None:
        team.repo.commit({PAGE: None}, "Remove")
        sha = team.repo.head()
        head = changed(team)
        led = undo(team, sha)
        assert led.location.endswith("/conflicts?done=undo-conflicts")
        assert team.repo.head() == head
        shown = team.editor.client.get(led.location).text
        assert "First" in shown
        sent = form_of(team.editor.client.get(led.location), "/conflicts") | {"take-0": "mine"}
        url = led.location.partition("/conflicts")[0]
        assert submit(team.editor, f"{url}/conflicts", **sent).location == f"{url}?done=resolved"
        team.configure(required_approvals=0)
        assert submit(team.editor, f"{url}/publish").location == f"{url}?done=published"
        assert team.repo.show(PAGE).decode() == TEXT

    @pytest.mark.one_database
    def test_undo_of_a_move_keeps_later_changes_of_the_page(self, team: Team) -> None:
        team.repo.commit({PAGE: None, "content/moved.md": TEXT.encode()}, "Move")
        sha = team.repo.head()
        team.repo.commit({"content/moved.md": NEW.encode()}, "Later")
        assert "done=undone" in undo(team, sha).location
        assert team.repo.show(PAGE).decode() == NEW
        assert "content/moved.md" not in team.repo.entries()

    @pytest.mark.one_database
    def test_commit_that_cannot_be_undone_is_refused_with_a_reason(self, team: Team) -> None:
        first = team.repo.text("rev-list", "--max-parents=0", "main").strip()
        team.repo.git("branch", "side", first)
        team.repo.commit({OTHER: b"Side\n"}, "Side", branch="side")
        files = {f"content/many/{number}.md": b"Many\n" for number in range(CommitLimits.files + 1)}
        team.repo.commit(files, "Many")
        large = team.repo.head()
        reasons = {
            first: (422, "It cannot be undone"),
            team.repo.head("side"): (404, ""),
            "0" * 40: (404, ""),
            "main": (404, ""),
            large: (413, "This change has more than 300 files."),
        }
        for sha, (status, reason) in reasons.items():
            refused = undo(team, sha)
            assert (refused.status_code, reason in refused.text) == (status, True)
        assert team.repo.head() == large
        assert undo(team, large, by=team.stranger).status_code == 403
        history = team.editor.client.get(f"{base(team)}/history").text
        assert (f"/undo/{large}?" in history, f"/undo/{first}?" in history) == (True, False)

    @pytest.mark.one_database
    @pytest.mark.parametrize("target", ["https://other.example/", "//other.example", "javascript:alert(1)"])
    def test_undo_leads_to_a_page_of_the_console_only(self, team: Team, target: str) -> None:
        sha = changed(team)
        shown = team.editor.client.get(f"{base(team)}/undo/{sha}", query_string={"next": target})
        assert target not in shown.text
        assert undo(team, sha, next=target).location.startswith("/console?done=undone")

    def test_failed_record_of_a_commit_is_written_later(self, team: Team) -> None:
        sha = changed(team)
        with broken(team.world.app, "project_log_entries"):
            assert "done=undone" in undo(team, sha).location
        team.world.work_off()
        assert log_of(team, team.repo.head()) == [("update", "commit", team.editor.id)]


class TestMessage:
    def undone(self, team: Team, done: TestResponse) -> TestResponse:
        """Press "Undo" in the message after an action, and return the page that follows."""
        assert done.status_code == 303, done.text
        page = team.editor.client.get(done.location)
        [action] = re.findall(r'action="([^"]*/undo/\w+)"', page.text)
        assert ">Undo</button>" in page.text
        location = submit(team.editor, action, **form_of(page, "/undo/")).location
        assert "done=undone" in location
        return team.editor.client.get(location)

    def test_button_in_the_message_undoes_a_deletion_a_move_and_a_restore(self, team: Team) -> None:
        editor, url = team.editor, base(team)
        before = team.repo.entries()
        fields = form_of(editor.client.get(f"{url}/edit/{PAGE}"), f"{url}/delete/")
        self.undone(team, submit(editor, f"{url}/delete/{PAGE}", **fields))
        assert team.repo.entries() == before

        fields = form_of(editor.client.get(f"{url}/edit/{PAGE}"), f"{url}/rename/")
        moved = submit(editor, f"{url}/rename/{PAGE}", **fields | {"new_path": "content/posts/moved.md"})
        assert self.undone(team, moved).location.startswith(f"{url}/edit/{PAGE}?done=undone&undo=")
        assert team.repo.entries() == before

        selected = {"select": PAGE, "base_sha": team.repo.head(), "folder": "content"}
        for action, more in (
            ("bulk-move", {"target": "content"}),
            ("bulk-delete", {}),
            ("bulk-state", {"state": "draft"}),
        ):
            selected["base_sha"] = team.repo.head()
            self.undone(team, submit(editor, f"{url}/{action}", **selected | more))
            assert team.repo.entries() == before

        changed(team)
        fields = form_of(editor.client.get(f"{url}/history/{PAGE}"), f"{url}/restore/")
        self.undone(team, submit(editor, f"{url}/restore/{PAGE}", **fields))
        assert team.repo.show(PAGE).decode() == NEW


class TestPublishedSet:
    def test_undo_of_its_commit_takes_the_set_back_without_an_approval(self, team: Team) -> None:
        made = team.published()
        sha = made["published_sha"]
        later = changed(team, NEW.replace("Second", "2nd"))
        team.configure(require_change_sets=True)
        done = undo(team, sha)
        assert "done=taken-back" in done.location
        assert team.repo.show(PAGE).decode() == TEXT.replace("Second", "2nd")
        assert (team.read(made)["state"], commits_since(team, later)) == ("reverted", 1)
        first = undo(team, sha).location.partition("?")[0]
        assert f'href="{first}"' in team.editor.client.get(f"{base(team)}/changes/{made['id']}").text
        assert commits_since(team, later) == 1

    @pytest.mark.one_database
    def test_undo_of_a_set_that_deletes_more_bytes_than_a_commit_takes(self, team: Team) -> None:
        pictures = {f"content/pier/{number}.bin": bytes([number]) * (CommitLimits.bytes // 2) for number in range(3)}
        team.repo.commit(pictures, "Add")
        before = team.repo.entries()
        made = team.new("Remove")
        team.commit(made, *({"path": path, "action": "delete"} for path in pictures)).ok(201)
        team.configure(required_approvals=0)
        team.call(made, "publish").ok(200)
        assert "done=taken-back" in undo(team, team.repo.head()).location
        assert (team.repo.entries(), team.read(made)["state"]) == (before, "reverted")

    def test_failed_record_of_a_set_is_written_later(self, team: Team) -> None:
        made = team.published()
        with broken(team.world.app, "project_log_entries"):
            shown = undo(team, made["published_sha"])
        assert re.fullmatch(rf"{base(team)}/changes/chg_\w+", shown.location)
        assert team.repo.show(PAGE).decode() == TEXT
        team.world.work_off()
        assert team.read(made)["state"] == "reverted"


class TestRaces:
    @pytest.mark.parametrize("is_set", [True, False])
    def test_parallel_undos_make_one_commit(self, team: Team, is_set: bool) -> None:
        sha = team.published()["published_sha"] if is_set else changed(team)
        people = [team.owner, team.admin, team.editor, team.reviewer]
        answers = together([partial(undo, team, sha, by=person) for person in people])
        assert {answer.status_code for answer in answers} == {303}
        assert commits_since(team, sha) == 1
        assert team.repo.show(PAGE).decode() == TEXT
        done, again = ("taken-back", "taken-back-before") if is_set else ("undone", "unchanged")
        names = re.findall(r"done=([a-z-]+)", " ".join(answer.location for answer in answers))
        assert sorted(names) == sorted([done, again, again, again])

    @pytest.mark.parametrize("is_set", [True, False])
    def test_save_before_a_statement_of_an_undo_is_kept(self, team: Team, is_set: bool) -> None:
        position, errors = 1, list[str]()
        while position < MAX_STATEMENTS:
            text = TEXT.replace("First", f"Words {position} of")
            sha = team.published(text=text)["published_sha"] if is_set else changed(team, text)
            with before_statement(team.world.app, position, partial(save, team, f"Later {position}")) as hook:
                answer = undo(team, sha)
            if not hook.has_run:
                break
            expected = TEXT.replace("Second", f"Later {position}")
            if answer.status_code != 303 or team.repo.show(PAGE).decode() != expected:
                errors.append(f"before statement {position}: {answer.status_code} {team.repo.show(PAGE)!r}")
            changed(team, TEXT, "Start again")
            position += STRIDE
        assert errors == []
        assert 1 < position < MAX_STATEMENTS

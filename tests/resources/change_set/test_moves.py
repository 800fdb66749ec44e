"""Tests of moves of changed pages from one set to another one."""

from functools import partial
from typing import Any

import pytest
from flask import Flask

from app.drivers.errors import UpstreamTimeout
from app.resources.change_set import moves
from tests.http.test_idempotency import interrupt
from tests.resources.change_set.conftest import FILES, OTHER, PAGE, TEXT, Team, mails_of, update
from tests.resources.change_set.races import ParallelCall, create
from tests.resources.change_set.test_late_records import broken, log_of
from tests.support import factories
from tests.support.interleaving import before_statement
from tests.support.parallel import together
from tests.support.world import Answer

NEW = TEXT.replace("First", "New")
BUNDLE = "content/trips/harbour"
STRIDE = 12


def move(team: Team, made: dict[str, Any], to: dict[str, Any], *paths: str, **options: Any) -> Answer:
    body = {"paths": list(paths or [PAGE]), "to": to["id"]}
    return team.editor.again().call("POST", f"/change-set/{made['id']}/move", body, **options)


def new_file(path: str, content: str = "# New\n") -> dict[str, Any]:
    return {"path": path, "action": "create", "content": content}


def paths_of(team: Team, made: dict[str, Any]) -> list[str]:
    """Return the changed files of a set at its host."""
    row = team.read(made)
    return team.repo.text("diff", "--no-renames", "--name-only", row["base_sha"], made["branch"]).split()


def agrees(team: Team, *sets: dict[str, Any]) -> bool:
    """Return whether the rows of sets agree with their branches."""
    rows = [(team.read(made), made["branch"]) for made in sets]
    return all(
        (row["head_sha"], row["files"]) == (team.repo.head(branch), len(paths_of(team, row))) for row, branch in rows
    )


class TestMove:
    def test_page_leaves_one_set_and_is_in_the_other(self, team: Team) -> None:
        made, other = team.approved(), team.new("Other")
        team.commit(other, update(OTHER, "# Us\n"), by=team.reviewer).ok(201)
        moved = move(team, made, other).ok()

        assert (moved["paths"], moved["complete"]) == ([PAGE], True)
        assert (moved["change_set"]["files"], moved["to"]["files"]) == (0, 2)
        assert (paths_of(team, made), paths_of(team, other)) == ([], [OTHER, PAGE])
        assert team.repo.show(PAGE, other["branch"]) == NEW.encode()
        assert team.repo.show(PAGE, made["branch"]) == TEXT.encode()
        assert agrees(team, made, other)
        assert moved["change_set"]["state"] == "in_review"
        for change_set, verb in ((moved["change_set"], "to “Other”"), (moved["to"], "from “New words”")):
            message = team.repo.text("log", "-1", "--format=%s", change_set["branch"]).strip()
            assert message == f"Move {PAGE} {verb}"
            assert log_of(team, change_set["head_sha"]) == [("update", "commit", team.editor.id)]

    def test_approvals_and_schedules_of_both_sets_end(self, team: Team) -> None:
        made, other = team.approved(), team.approved("Other", TEXT.replace("Second", "Last"))
        team.schedule(other)
        moved = move(team, made, other).ok()

        assert [moved[name]["state"] for name in ("change_set", "to")] == ["in_review", "in_review"]
        assert [moved[name]["approvals"] for name in ("change_set", "to")] == [0, 0]
        assert moved["to"]["schedule"] is None
        assert "Other" in mails_of(team, team.editor)[-1]

    def test_fields_and_paragraphs_of_both_sets_are_merged(self, team: Team) -> None:
        made, other = team.edited(), team.edited("Other", TEXT.replace("Second", "Last"))
        move(team, made, other).ok()
        assert team.repo.show(PAGE, other["branch"]).decode() == NEW.replace("Second", "Last")

    def test_conflict_is_refused_and_writes_nothing(self, team: Team) -> None:
        made, other = team.edited(), team.edited("Other", TEXT.replace("First", "Other"))
        heads = [team.repo.head(one["branch"]) for one in (made, other)]
        refused = move(team, made, other).fails(409, "CONFLICT")

        [conflict] = refused["result"]["conflicts"]
        assert (refused["result"]["paths"], conflict["path"], conflict["kind"]) == ([PAGE], PAGE, "block")
        assert [team.repo.head(one["branch"]) for one in (made, other)] == heads
        team.commit(made, new_file("content/later.md")).ok(201)
        team.commit(other, new_file("content/later.md")).ok(201)

    def test_newer_version_of_the_site_stays_in_the_target(self, team: Team) -> None:
        other = team.new("Other")
        team.repo.commit({PAGE: TEXT.replace("Second", "Site").encode()})
        made = team.edited(text=NEW.replace("Second", "Site"))
        move(team, made, other).ok()
        assert team.repo.show(PAGE, other["branch"]) == NEW.encode()

    def test_all_files_of_an_entry_and_no_others_are_moved(self, team: Team) -> None:
        made, other = team.new(), team.new("Other")
        names = [
            "_index.md",
            "logo.svg",
            "harbour/index.md",
            "harbour/index.de.md",
            "harbour/a.svg",
            "harbour/in/b.svg",
        ]
        files = [new_file(f"content/trips/{name}") for name in (*names, "plain.md")]
        team.commit(made, *files).ok(201)
        moved = move(team, made, other, f"{BUNDLE}/in/b.svg").ok()
        section = move(team, made, other, "content/trips/_index.md").ok()

        assert moved["paths"] == sorted(f"content/trips/{name}" for name in names[2:])
        assert section["paths"] == ["content/trips/_index.md", "content/trips/logo.svg"]
        assert paths_of(team, made) == ["content/trips/plain.md"]
        assert agrees(team, made, other)

    def test_removed_and_renamed_pages_are_moved_with_their_former_path(self, team: Team) -> None:
        made, other = team.new(), team.new("Other")
        renamed = {"path": "content/posts/hi.md", "action": "move", "previous_path": PAGE}
        team.commit(made, renamed, {"path": OTHER, "action": "delete"}).ok(201)
        assert move(team, made, other, "content/posts/hi.md").ok()["paths"] == [PAGE, "content/posts/hi.md"]
        assert paths_of(team, made) == [OTHER]
        move(team, made, other, OTHER).ok()
        assert (paths_of(team, made), paths_of(team, other)) == ([], [OTHER, PAGE, "content/posts/hi.md"])

    def test_authors_do_not_approve_their_moved_changes_and_are_named(self, team: Team) -> None:
        made, other = team.new(), team.new("Other")
        team.commit(made, update(PAGE, NEW), by=team.reviewer).ok(201)
        team.commit(made, update(OTHER, "# Us\n"), by=team.admin).ok(201)
        move(team, made, other).ok()

        team.call(other, "submit").ok()
        team.call(other, "reviews", {"verdict": "approve"}, by=team.reviewer).fails(403, "OWN_REVIEW")
        message = team.repo.text("log", "-1", "--format=%B", other["branch"])
        assert (team.reviewer.email in message, team.admin.email in message) == (True, False)

    def test_comments_follow_their_page(self, team: Team) -> None:
        made, other = team.edited(), team.new("Other")
        for body in ({"body": "Shorter?", "path": PAGE}, {"body": "All good"}):
            team.call(made, "comments", body).ok(201)
        move(team, made, other).ok()
        listed = [team.owner.again().get(f"/change-set/{one['id']}/comments").ok() for one in (made, other)]
        assert [[comment["body"] for comment in comments] for comments in listed] == [["All good"], ["Shorter?"]]


class TestRefusals:
    def test_target_is_another_open_set_of_the_project(self, team: Team) -> None:
        made, closed = team.edited(), team.new("Closed")
        team.owner.again().delete(f"/change-set/{closed['id']}").ok()
        name, _repo = factories.repository(team.world, FILES)
        foreign = team.stranger.new_project(team.stranger.new_organization(), name)
        elsewhere = team.stranger.post(f"/project/{foreign}/change-sets", {"title": "Elsewhere"}).ok(201)

        for wrong in (made, {"id": "chg_0000000000000000"}, elsewhere):
            refused = move(team, made, wrong).fails(400, "VALIDATION_FAILED")
            assert [field["path"] for field in refused["errorMessage"]] == ["to"]
        assert move(team, made, closed).fails(409, "STATE")["result"]["state"] == "closed"
        assert agrees(team, made)

    def test_file_without_a_change_and_deleted_branches_are_named(self, team: Team) -> None:
        made, other = team.edited(), team.new("Other")
        refused = move(team, made, other, PAGE, OTHER).fails(409, "NOTHING_TO_MOVE")
        assert [field["path"] for field in refused["errorMessage"]] == [OTHER]
        team.repo.text("branch", "-D", other["branch"])
        move(team, made, other).fails(409, "BRANCH_GONE")
        assert paths_of(team, made) == [PAGE]

    def test_set_is_hidden_from_strangers(self, team: Team) -> None:
        made, other = team.edited(), team.new("Other")
        body = {"paths": [PAGE], "to": other["id"]}
        team.call(made, "move", body, by=team.stranger).fails(404)


class TestInterruptions:
    @pytest.fixture
    def sets(self, team: Team) -> tuple[dict[str, Any], dict[str, Any]]:
        return team.edited(), team.new("Other")

    def test_failed_second_commit_is_reported_and_completed_by_a_repetition(
        self, team: Team, sets: tuple[dict[str, Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, other = sets

        def fail(*_: object, **__: object) -> None:
            raise UpstreamTimeout

        with monkeypatch.context() as patch:
            patch.setattr(moves, "save_files", fail)
            moved = move(team, made, other).ok()
            assert (moved["complete"], moved["to"]["files"]) == (False, 1)
            team.world.work_off()
            assert (paths_of(team, made), paths_of(team, other)) == ([PAGE], [PAGE])
            move(team, made, other).fails(504)  # Without an effect, a failure is one.
        head = team.repo.head(other["branch"])
        assert move(team, made, other).ok()["complete"] is True
        assert (paths_of(team, made), paths_of(team, other), team.repo.head(other["branch"])) == ([], [PAGE], head)
        assert agrees(team, made, other)

    @pytest.mark.parametrize("table", ["project_log_entries", "change_set_paths"])
    def test_move_is_answered_if_its_record_fails(
        self, team: Team, app: Flask, sets: tuple[dict[str, Any], dict[str, Any]], table: str
    ) -> None:
        made, other = sets
        with broken(app, table):
            moved = move(team, made, other).ok()
        team.world.work_off()

        assert (moved["complete"], moved["paths"]) == (True, [PAGE])
        assert (paths_of(team, made), paths_of(team, other)) == ([], [PAGE])
        assert agrees(team, made, other)
        for one in sets:
            assert log_of(team, team.read(one)["head_sha"]) == [("update", "commit", team.editor.id)]
            team.commit(one, new_file("content/later.md")).ok(201)

    def test_repeated_request_completes_an_interrupted_move(
        self, team: Team, app: Flask, sets: tuple[dict[str, Any], dict[str, Any]]
    ) -> None:
        made, other = sets
        send = partial(move, team, made, other, headers={"Idempotency-Key": "move"})
        first, heads = send().ok(), [team.repo.head(one["branch"]) for one in sets]
        interrupt(app, team.editor)
        repeated = send().ok()

        assert (repeated["complete"], repeated["paths"]) == (True, first["paths"])
        assert [team.repo.head(one["branch"]) for one in sets] == heads
        assert agrees(team, made, other)


@pytest.mark.slow
class TestRaces:
    def test_two_moves_at_once_leave_the_page_in_one_set(self, team: Team) -> None:
        for number in range(4):
            made = team.edited(text=TEXT.replace("First", f"Words {number}"))
            targets = [team.new("One"), team.new("Two")]
            answers = together([partial(move, team, made, one) for one in targets])
            assert sorted(answer.status for answer in answers) == [200, 409]
            holders = [one for one in targets if paths_of(team, one) == [PAGE]]
            assert (len(holders), paths_of(team, made)) == (1, [])
            assert agrees(team, made, *targets)

    def test_opposite_moves_at_once_do_not_wait_for_each_other(self, team: Team) -> None:
        first, second = team.edited(), team.new("Other")
        team.commit(second, update(OTHER, "# Us\n")).ok(201)
        answers = together([partial(move, team, first, second), partial(move, team, second, first, OTHER)])
        assert [answer.status for answer in answers] == [200, 200]
        assert (paths_of(team, first), paths_of(team, second)) == ([OTHER], [PAGE])
        assert agrees(team, first, second)

    @pytest.mark.parametrize("is_target", [True, False])
    def test_commit_before_a_statement_of_a_move_stays(self, team: Team, is_target: bool) -> None:
        position, errors = 1, list[str]()
        while True:
            made, other = team.edited(text=TEXT.replace("First", f"Words {position}")), team.new("Other")
            to, path = other if is_target else made, f"content/{made['id']}.md"
            parallel = ParallelCall(partial(create, team, to, path))
            with before_statement(team.world.app, position, parallel) as hook:
                moved = move(team, made, other)
            if not hook.has_run:
                break
            second = parallel.answer()
            team.world.work_off()
            errors += [f"{position}: {one.status} {one.json}" for one in (moved, second) if not one.status < 300]
            expected = [[path] if one is to else [] for one in (made, other)]
            if [paths_of(team, made), paths_of(team, other)] != [expected[0], sorted([*expected[1], PAGE])]:
                errors.append(f"{position}: {paths_of(team, made)} {paths_of(team, other)}")
            errors += [] if agrees(team, made, other) else [f"{position}: a row differs from its branch"]
            position += STRIDE
        assert errors == []
        assert position > STRIDE

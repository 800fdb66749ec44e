"""Which approvals count: each way to change a set excludes its user, and only members approve."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.core.permissions import Role
from app.database import transactions
from app.extensions import db
from app.models.project import Project
from app.resources.change_set import queries, states
from app.resources.change_set.publishing import claim
from app.resources.change_set.states import SetOutcome
from app.resources.git_push import service as git_push
from app.resources.git_push.service import PermittedPush
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, run_due, run_job, update
from tests.support.factories import limit
from tests.support.world import Answer, Person

APPROVE = {"verdict": "approve"}
Write = Callable[[Team, dict[str, Any], Person], object]


def _commit(team: Team, made: dict[str, Any], by: Person) -> Answer:
    return team.commit(made, update(OTHER, "# Own\n"), by=by).ok(201)


def _save(team: Team, made: dict[str, Any], by: Person) -> Answer:
    """Save to the branch of the set without its routes."""
    body = {"message": "Edit", "base_sha": team.repo.head(made["branch"]), "branch": made["branch"]}
    files = [update(OTHER, "# Own\n")]
    return by.again().post(f"/project-content/{team.project}/commit", body | {"files": files}).ok(201)


def _hidden_save(team: Team, made: dict[str, Any], by: Person) -> Answer:
    """Save as a user whose commits name only the service."""
    by.again().patch(f"/user-preference/impersonate/{by.id}", {"impersonate": True}).ok()
    return _save(team, made, by)


def _merge(team: Team, made: dict[str, Any], by: Person) -> Answer:
    """Resolve a conflict with the site."""
    team.repo.commit({PAGE: TEXT.replace("First", "Site").encode()})
    resolution = {"resolutions": [{"path": PAGE, "take": "mine"}]}
    return team.call(made, "resolve", resolution, by=by).ok()


def _branch(team: Team, made: dict[str, Any], by: Person) -> Answer:
    """Replace the branch of the set by another one."""
    start = team.repo.commit({OTHER: b"# Replaced\n"}, branch=made["branch"])
    team.repo.git("branch", "other", start)
    team.repo.git("update-ref", "-d", f"refs/heads/{made['branch']}")
    body = {"branch": made["branch"], "from": "other"}
    return by.again().post(f"/project/{team.project}/branches", body).ok(201)


WAYS: dict[str, Write] = {
    "commit": _commit,
    "save": _save,
    "save without a name": _hidden_save,
    "conflict": _merge,
    "branch": _branch,
}


class TestOwnChanges:
    @pytest.mark.parametrize("way", WAYS)
    def test_author_of_a_change_cannot_approve_it(self, team: Team, way: str) -> None:
        made = team.edited()
        team.call(made, "submit").ok()
        WAYS[way](team, made, team.reviewer)
        team.call(made, "reviews", APPROVE, by=team.reviewer).fails(403, "OWN_REVIEW")
        team.call(made, "publish").fails(409)

    @pytest.mark.parametrize("way", ["save", "branch"])
    def test_author_of_a_change_during_a_publication_cannot_approve_it(self, team: Team, way: str) -> None:
        made = team.approved()
        with publishing(team, made):
            WAYS[way](team, made, team.reviewer)
        team.call(made, "reviews", APPROVE, by=team.reviewer).fails(403, "OWN_REVIEW")
        team.call(made, "publish").fails(409)

    def test_author_of_a_save_before_the_set_was_stored_cannot_approve_it(self, team: Team) -> None:
        made = team.edited()
        team.call(made, "submit").ok()
        save = {"sha": team.repo.commit({OTHER: b"# Own\n"}, branch=made["branch"]), "actions": {OTHER: "update"}}
        user = {"user_id": team.reviewer.id, "token_id": None}
        run_job(team, "content.record_save", project_id=team.project, branch=made["branch"], **save, **user)
        team.call(made, "reviews", APPROVE, by=team.reviewer).fails(403, "OWN_REVIEW")

    def test_pusher_before_the_set_was_stored_cannot_approve_it(self, team: Team) -> None:
        made = team.edited()
        team.call(made, "submit").ok()
        after = team.repo.commit({OTHER: b"# Own\n"}, branch=made["branch"])
        with team.world.app.app_context(), transactions.write_transaction():
            repository = db.session.get_one(Project, team.project).repository
            update = (made["branch"], made["head_sha"], after)
            git_push.enqueue_effects(PermittedPush("push", repository, [update], team.reviewer.id, "key_none"))
        team.call(made, "reviews", APPROVE, by=team.reviewer).fails(403, "OWN_REVIEW")


@contextmanager
def publishing(team: Team, made: dict[str, Any]) -> Iterator[None]:
    """Claim a set for a publication that writes nothing."""
    with team.world.app.app_context():
        with transactions.write_transaction():
            claim(states.locked(made["id"]), head=team.repo.head(), user=team.editor)
        yield
        with transactions.write_transaction():
            states.take(states.locked(made["id"]), SetOutcome.REFUSED, publish_from=None)


def remove(team: Team, person: Person) -> None:
    body = {"member_id": person.id}
    team.owner.again().patch(f"/organization/remove-member/{team.organization}", body).ok()


def add(team: Team, person: Person) -> None:
    body = {"email": person.email, "role": Role.EDITOR}
    team.owner.again().patch(f"/organization/member/{team.organization}", body).ok()


def hide(team: Team, person: Person) -> None:
    limit(team.world, team.organization, person)


class TestFormerMembers:
    @pytest.mark.parametrize("end", [remove, hide])
    def test_approval_of_a_removed_member_does_not_count(self, team: Team, end: Callable[[Team, Person], None]) -> None:
        made = team.approved()
        end(team, team.reviewer)
        team.call(made, "publish").fails(409, "NOT_APPROVED")
        assert team.read(made)["approvals"] == 0
        team.call(made, "reviews", APPROVE, by=team.admin).ok(201)
        team.call(made, "publish").ok()

    def test_approval_counts_again_after_the_return(self, team: Team) -> None:
        made = team.approved()
        remove(team, team.reviewer)
        add(team, team.reviewer)
        team.call(made, "publish").ok()

    def test_scheduled_set_without_its_approval_fails_and_is_approved_again(self, team: Team) -> None:
        made = team.approved()
        team.schedule(made)
        remove(team, team.reviewer)
        run_due(team, made)
        assert team.read(made)["state"] == "failed"
        team.call(made, "publish").fails(409, "NOT_APPROVED")
        team.call(made, "reviews", APPROVE, by=team.admin).ok(201)
        assert team.call(made, "publish").ok()["state"] == "published"

    def test_objection_of_a_removed_member_still_invalidates_approvals(self, team: Team) -> None:
        made = team.approved()
        team.call(made, "reviews", {"verdict": "changes"}, by=team.admin).ok(201)
        remove(team, team.admin)
        team.call(made, "publish").fails(409)


class TestSchedules:
    def test_late_author_invalidates_a_scheduled_publication(self, team: Team) -> None:
        """The reviewer writes to the branch after the approval. The time comes before any job has read the branch."""
        made = team.approved()
        team.schedule(made)
        _save(team, made, team.reviewer)
        run_due(team, made)
        assert team.read(made)["state"] == "in_review"
        assert "Own" not in team.repo.show(OTHER).decode()


class TestReviewers:
    def test_set_waits_for_the_reviewers(self, team: Team) -> None:
        made = team.edited()
        request = {"reviewers": [team.reviewer.id], "message": "Are the words right?"}
        shown = team.call(made, "submit", request).ok()
        assert [one["id"] for one in shown["reviewers"]] == [team.reviewer.id]
        reviews = team.owner.again().get(f"/change-set/{made['id']}/reviews").ok()
        assert [(one["verdict"], one["body"]) for one in reviews] == [("comment", "Are the words right?")]
        assert _waits(team, team.reviewer) == [made["id"]]
        assert _waits(team, team.admin) == []

    def test_reviewers_stay_without_a_list(self, team: Team) -> None:
        made = team.edited()
        team.call(made, "submit", {"reviewers": [team.reviewer.id, team.admin.id]}).ok()
        team.call(made, "reviews", {"verdict": "changes", "body": "No."}, by=team.reviewer).ok(201)
        assert len(team.call(made, "submit").ok()["reviewers"]) == len([team.reviewer, team.admin])
        team.call(made, "reviews", {"verdict": "changes", "body": "No."}, by=team.reviewer).ok(201)
        assert team.call(made, "submit", {"reviewers": []}).ok()["reviewers"] == []
        assert _waits(team, team.owner) == [made["id"]]

    def test_strangers_and_authors_are_no_reviewers(self, team: Team) -> None:
        made = team.edited()
        for other in (team.stranger, team.editor):
            team.call(made, "submit", {"reviewers": [other.id]}).fails(400, None, "reviewers")
        assert team.read(made)["state"] == "draft"

    def test_former_member_is_no_reviewer(self, team: Team) -> None:
        made = team.edited()
        team.call(made, "submit", {"reviewers": [team.reviewer.id]}).ok()
        remove(team, team.reviewer)
        assert team.read(made)["reviewers"] == []
        assert _waits(team, team.admin) == [made["id"]]


def _waits(team: Team, person: Person) -> list[str]:
    """Return the sets that wait for a member."""
    with team.world.app.app_context():
        return [entry.change_set.id for entry in queries.waiting(person.id, [team.project], limit=10)]

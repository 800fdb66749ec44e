"""Tests of the limits of change sets: open sets, files, bytes, comments and reviews."""

from collections import Counter
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from app.core.ids import new_id
from app.core.limits import MIB, CommitLimits
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetComment, ChangeSetReview
from app.resources.change_set.actions import MAX_COMMENTS
from app.resources.change_set.reviews import MAX_REVIEWS
from app.resources.change_set.service import MAX_OPEN
from tests.resources.change_set.conftest import PAGE, Team, update
from tests.support.parallel import patiently, together

CALLS, FREE = 6, 2


def fill(team: Team, state: str, count: int) -> None:
    """Store sets in a state without branches."""
    with team.world.app.app_context():
        for number in range(count):
            values = {"base_sha": "a" * 40, "head_sha": "a" * 40, "branch": f"galley/{state}-{number}"}
            db.session.add(ChangeSet(project_id=team.project, title="Filled", state=state, **values))
        db.session.commit()


def branches(team: Team) -> set[str]:
    return set(team.repo.text("branch", "--format=%(refname:short)").splitlines())


def new_file(path: str, content: str = "x\n") -> dict[str, Any]:
    return {"path": path, "action": "create", "content": content}


class TestOpenSets:
    def test_parallel_creations_do_not_exceed_the_limit(self, team: Team) -> None:
        fill(team, "closed", 5)
        fill(team, "publishing", 1)
        fill(team, "draft", MAX_OPEN - FREE - 1)
        before = branches(team)
        create = patiently(lambda: team.editor.again().post(team.sets, {"title": "One more"}))
        answers = together([create] * CALLS)
        assert Counter(answer.status for answer in answers) == {201: FREE, 403: CALLS - FREE}
        assert {answer.json["code"] for answer in answers if answer.status == 403} == {"LIMIT_REACHED"}
        made = [answer.json["result"] for answer in answers if answer.status == 201]
        assert branches(team) - before == {one["branch"] for one in made}
        team.editor.again().delete(f"/change-set/{made[0]['id']}").ok()
        team.new()

    def test_revert_counts_as_an_open_set(self, team: Team) -> None:
        made = team.published()
        fill(team, "in_review", MAX_OPEN)
        before = branches(team)
        team.call(made, "revert").fails(403, "LIMIT_REACHED")
        assert branches(team) == before


class TestContent:
    def test_further_file_is_refused_at_the_commit(self, team: Team) -> None:
        made = team.new()
        half = CommitLimits.files // 2
        for part in range(2):
            files = [new_file(f"content/{number}.md") for number in range(part * half, (part + 1) * half)]
            team.commit(made, *files).ok(201)
        assert team.read(made)["files"] == CommitLimits.files
        head = team.repo.head(made["branch"])
        for edit in (update(PAGE, "x\n"), {"path": PAGE, "action": "delete"}):
            team.commit(made, edit).fails(413)
        assert team.repo.head(made["branch"]) == head
        team.commit(made, update("content/1.md", "y\n")).ok(201)
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        assert team.call(made, "publish").ok()["state"] == "published"

    @pytest.mark.parametrize(
        "pushed",
        [
            {f"content/{number}.md": b"x\n" for number in range(CommitLimits.files + 1)},
            {f"content/{number}.bin": bytes([number]) * (9 * MIB) for number in range(3)},
        ],
        ids=["files", "bytes"],
    )
    def test_pushed_content_beyond_a_limit_is_not_published(self, team: Team, pushed: dict[str, bytes]) -> None:
        team.configure(required_approvals=0)
        team.repo.commit(dict.fromkeys(pushed, b"old\n"))
        made = team.new()
        assert sum(map(len, pushed.values())) > CommitLimits.bytes or len(pushed) > CommitLimits.files
        team.repo.commit(pushed, branch=made["branch"])
        head = team.repo.head()
        team.call(made, "publish").fails(413)
        left = team.read(made)
        assert (left["state"], left["files"], team.repo.head()) == ("draft", len(pushed), head)


LIMITED = {
    "comments": (ChangeSetComment, "cmt", MAX_COMMENTS, {}),
    "reviews": (ChangeSetReview, "rvw", MAX_REVIEWS, {"verdict": "comment"}),
}


class TestTexts:
    @pytest.mark.parametrize("kind", LIMITED)
    def test_parallel_texts_do_not_exceed_the_limit(self, team: Team, kind: str) -> None:
        made, (model, prefix, limit, more) = team.new(), LIMITED[kind]
        with team.world.app.app_context():
            row = {"change_set_id": made["id"], "user_id": team.editor.id, "body": "x"} | more
            head = {"head_sha": made["head_sha"]} if kind == "reviews" else {}
            rows = [row | head | {"id": new_id(prefix)} for _ in range(limit - FREE)]
            db.session.execute(sa.insert(model), rows)
            db.session.commit()
        send = partial(team.call, made, kind, {"body": "One more"} | more)
        answers = together([patiently(send)] * CALLS)
        assert Counter(answer.status for answer in answers) == {201: FREE, 403: CALLS - FREE}
        assert team.owner.get(f"/change-set/{made['id']}/{kind}").json["meta"]["total"] == limit

    def test_title_is_one_line(self, team: Team) -> None:
        made = team.new(" Two\nlines\t of\r\ntext ")
        assert made["title"] == "Two lines of text"
        team.editor.post(team.sets, {"title": " \n"}).fails(400, None, "title")

    def test_resolution_of_a_file_and_of_one_of_its_parts_is_refused(self, team: Team) -> None:
        made = team.edited()
        resolutions = [{"path": PAGE, "take": "mine"}, {"path": PAGE, "pointer": "/title", "take": "mine"}]
        team.call(made, "resolve", {"resolutions": resolutions}).fails(400, None, "resolutions.0.path")

"""Parallel steps of one change set, and a check that the set agrees with Git afterwards. Used by tests of both sizes."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.resources.change_set.conftest import TEXT, Team, run_due
from tests.support.parallel import together
from tests.support.world import Answer

ChangeSet = dict[str, Any]
Step = Callable[[Team, ChangeSet], Answer | None]
WAIT_S, ENDS_WITHIN_S, MAX_DELAY_S = 0.25, 60.0, 0.03
REFUSALS = frozenset(
    {"STATE", "ALREADY_PUBLISHED", "STALE_APPROVAL", "NOT_APPROVED", "BRANCH_BUSY", "BRANCH_GONE", "CONFLICT"}
)


def trailers(team: Team, change_set: ChangeSet) -> int:
    """Return the number of commits on the working branch with the trailer of a set."""
    return team.repo.text("log", "--format=%B", "main").splitlines().count(f"Galley-Change-Set: {change_set['id']}")


def create(team: Team, change_set: ChangeSet, path: str) -> Answer:
    """Commit a new file to a set, as an editor who opened it when it was approved."""
    file = {"path": path, "action": "create", "content": f"{path}\n"}
    return team.commit(change_set, file, base_sha=change_set["head_sha"])


def close(team: Team, change_set: ChangeSet) -> Answer:
    return team.admin.again().delete(f"/change-set/{change_set['id']}")


def unschedule(team: Team, change_set: ChangeSet) -> Answer:
    return team.admin.again().delete(f"/change-set/{change_set['id']}/schedule")


def schedule(team: Team, change_set: ChangeSet) -> Answer:
    body = {"wall_time": "2029-05-01T10:00", "timezone": "Europe/Berlin"}
    return team.put_schedule(change_set, body, by=team.reviewer)


def approve(team: Team, change_set: ChangeSet) -> Answer:
    return team.call(change_set, "reviews", {"verdict": "approve"}, by=team.admin)


def publish(team: Team, change_set: ChangeSet) -> Answer:
    return team.call(change_set, "publish", by=team.admin)


def publish_at_its_time(team: Team, change_set: ChangeSet) -> None:
    run_due(team, change_set)


def is_valid(answer: Answer | None) -> bool:
    """Return whether a parallel step succeeded, or was refused because of the other ones."""
    if answer is None or answer.status in (200, 201):
        return True
    return answer.status == 409 and answer.json["code"] in REFUSALS


def differences(team: Team, change_set: ChangeSet, acknowledged: list[str]) -> list[str]:
    """Compare a set with Git. `acknowledged` are the files of commits that were answered with 201."""
    team.world.work_off()
    row, count, errors = team.read(change_set), trailers(team, change_set), []
    is_published = row["state"] in ("published", "reverted")
    if count != is_published:
        errors.append(f"{row['state']} with {count} commits")
    has_branch = change_set["branch"] in team.repo.text("branch", "--format=%(refname:short)").splitlines()
    if has_branch != (row["state"] not in ("published", "reverted", "closed")):
        errors.append(f"{row['state']}, branch: {has_branch}")
    if is_published and row["problem"] is not None:
        errors.append(f"published with the problem {row['problem']}")
    if row["state"] == "publishing":
        errors.append("still publishing")
    if has_branch and team.repo.head(change_set["branch"]) != row["head_sha"]:
        errors.append("the head is not recorded")
    if is_published or has_branch:
        present = team.repo.entries("main" if is_published else change_set["branch"])
        errors += [f"{row['state']} without {path}" for path in acknowledged if path not in present]
    if is_published:
        reviews = team.owner.again().get(f"/change-set/{row['id']}/reviews").ok()
        if not any(review["valid"] and review["verdict"] == "approve" for review in reviews):
            errors.append("published without an approval of the published content")
    if (row["state"] == "scheduled") != (row["schedule"] is not None):
        errors.append(f"{row['state']} with the schedule {row['schedule']}")
    return errors


STEPS: dict[str, Step] = {
    "publish": publish,
    "publish again": lambda team, change_set: team.call(change_set, "publish"),
    "commit": lambda team, change_set: create(team, change_set, f"content/{change_set['id']}-1.md"),
    "second commit": lambda team, change_set: create(team, change_set, f"content/{change_set['id']}-2.md"),
    "close": close,
    "schedule": schedule,
    "unschedule": unschedule,
    "its time": publish_at_its_time,
    "approve": approve,
}
COMMITS = {"commit": 1, "second commit": 2}


def race(team: Team, generator: random.Random) -> tuple[Counter[str], list[str]]:
    """Run random steps of an approved set in parallel. Return the outcomes and all errors."""
    made = team.approved(text=TEXT.replace("First", f"Words {generator.random()} of"))
    if generator.random() < 0.5:
        team.schedule(made)
    names = generator.sample([name for name in STEPS if name != "close"], 5)
    names += ["close"] * (generator.random() < 0.3)

    def run(name: str, delay_s: float) -> Answer | None:
        time.sleep(delay_s)
        return STEPS[name](team, made)

    answers = together([partial(run, name, generator.uniform(0, MAX_DELAY_S)) for name in names])
    by_name = dict(zip(names, answers, strict=True))
    errors = [f"{name}: {answer.status} {answer.json}" for name, answer in by_name.items() if not is_valid(answer)]
    stored = [
        f"content/{made['id']}-{number}.md"
        for name, number in COMMITS.items()
        if (answer := by_name.get(name)) is not None and answer.status == 201
    ]
    errors += differences(team, made, stored)
    outcomes = Counter(
        f"{name} {answer.status if answer.status != 409 else answer.json['code']}"
        for name, answer in by_name.items()
        if answer is not None
    )
    outcomes[team.read(made)["state"]] += 1
    return outcomes, [f"{made['id']} {sorted(names)}: {error}" for error in errors]


class ParallelCall:
    """A call in another thread that starts between two statements. The statements wait a moment for its end."""

    def __init__(self, call: Callable[[], Answer]) -> None:
        self._call, self._answers = call, list[Answer]()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self._answers.append(self._call())

    def __call__(self) -> None:
        self._thread.start()
        self._thread.join(WAIT_S)

    def answer(self) -> Answer | None:
        """Return the answer, or None if the call was not started."""
        if self._thread.ident is None:
            return None
        self._thread.join(ENDS_WITHIN_S)
        return self._answers[0]

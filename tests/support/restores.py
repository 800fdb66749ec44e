"""Races of restores and commits of one repository; used by the tests of both sizes."""

from functools import partial
from typing import TYPE_CHECKING

from tests.support.parallel import patiently, together
from tests.support.world import Answer

if TYPE_CHECKING:
    from tests.resources.project_content.conftest import Site

PATH, OTHER = "content/about.md", "content/page-{number}.md"


def race_restores(site: "Site", *, writers: int) -> None:
    """Send half as many restores of one file as writers, and as many commits, half of them to the same file.

    Each success is one commit of the log, each other response is 409, and the file has the bytes of the last success.
    """
    first = site.repo.head()
    base = site.repo.commit({PATH: b"# Present\n"})

    def send_restore(_number: int) -> Answer:
        body = {"file": PATH, "commit_sha": first, "base_sha": base}
        return site.owner.again().post(site.path("/restore"), body)

    def send_commit(number: int) -> Answer:
        path = OTHER.format(number=number) if number % 2 else PATH
        file = {"path": path, "action": "create" if number % 2 else "update", "content": f"# {number}\n"}
        return site.commit(file, base=base)

    calls = [
        patiently(partial(send_restore if number < writers // 2 else send_commit, number)) for number in range(writers)
    ]
    answers = together(calls)
    assert {answer.status for answer in answers} <= {201, 409}
    made = [answer.json["result"]["commit_sha"] for answer in answers if answer.status == 201]
    log = site.repo.text("rev-list", f"{base}..main").split()
    assert sorted(log) == sorted(made)
    assert len(set(made)) == len(made)
    touching = site.repo.text("rev-list", f"{base}..main", "--", PATH).split()
    assert len(touching) == 1
    others = [number for number in range(writers // 2, writers) if number % 2]
    assert {OTHER.format(number=number) for number in others} <= site.repo.entries().keys()
    assert len(made) == len(others) + 1
    site.repo.check()

"""The state of a branch as plain git reports it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.doubles.plumbing import Plumbing
from tests.support.edit_pairs.pairs import Pairs, Save


@dataclass(frozen=True)
class BranchCommit:
    """A commit of the branch."""

    sha: str
    parents: list[str]
    subject: str
    paths: frozenset[str]


class Witness:
    """The commits of the branch in plain git since the start, oldest first."""

    def __init__(self, git: Plumbing, start: str) -> None:
        self.git, self.start = git, start
        self.commits = list(_commits_since(git, start))
        self.place = {start: -1} | {commit.sha: n for n, commit in enumerate(self.commits)}

    def check(self, pairs: Pairs) -> None:
        """Assert that the branch contains each push and each acknowledged save once, and no refused save."""
        self.git.check()
        self._check_moves()
        for sha in pairs.pushes:
            assert sha in self.place, "a push was lost"
        assert not [save.answer.json for save in pairs.saves if save.is_alone and save.answer.status == 409]
        by_subject = {commit.subject: commit for commit in self.commits}
        assert len(by_subject) == len(self.commits), "a save was committed twice"
        for save in pairs.saves:
            self._check_save(save, by_subject.get(save.subject))
        assert len(self.commits) == len(pairs.pushes) + sum(save.subject in by_subject for save in pairs.saves)

    def _check_moves(self) -> None:
        """Assert that the branch moved forward only, by one commit each time."""
        log = (self.git.folder / "logs/refs/heads/main").read_text().splitlines()
        moves = [(line.split(" ")[0], line.split(" ")[1]) for line in log]
        assert [new for _, new in moves] == [commit.sha for commit in self.commits]
        assert [[old] for old, _ in moves] == [commit.parents for commit in self.commits]

    def _check_save(self, save: Save, landed: BranchCommit | None) -> None:
        status = save.answer.status
        assert status in (201, 409, 502, 503, 504), (status, save.answer.json)
        assert (status == 201) <= (landed is not None), "an acknowledged save is not there"
        assert (status == 409) <= (landed is None), "a refused save is there"
        if landed is None:
            return
        assert status != 201 or save.answer.json["result"]["commit_sha"] == landed.sha
        assert landed.paths == save.paths, "a commit changed what it was not asked to"
        between = self.commits[self.place[save.base] + 1 : self.place[landed.sha]]
        lost = [commit.subject for commit in between if commit.paths & save.paths]
        assert not lost, f"{save.subject} overwrote {lost}"


def _commits_since(git: Plumbing, start: str) -> Iterator[BranchCommit]:
    text = git.text(
        "log", "--reverse", "--format=%x01%H%x02%P%x02%s%x02", "--name-only", "--no-renames", f"{start}..main"
    )
    for record in text.split("\x01")[1:]:
        sha, parents, subject, paths = record.split("\x02")
        yield BranchCommit(sha, parents.split(), subject, frozenset(paths.split()))

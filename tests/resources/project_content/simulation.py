"""Simulation of a branch: random saves through the API and pushes without a notification, compared with Git."""

import base64
import random
from collections.abc import Iterable
from typing import Any

from app.database import transactions
from app.extensions import db, drivers
from app.models.project import Project
from app.resources.project_content.index import indexes
from app.resources.project_content.index.index_health import differences
from app.resources.project_content.source import source_of
from tests.resources.project_content.conftest import Site
from tests.support.samples.gitrepo import SYMLINK, Content

NAMES = [
    "plain",
    "with space",
    "日本語",
    "cafe\u0301",
    "café",
    "😀",
    "-dash",
    "per%2Fcent",
    "quote'd",
    "UPPER",
    "a.b.c",
    "_x",
]


class Simulation:
    """Random saves and pushes from one seeded generator, so that a run can be repeated."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self.dice = site, random.Random(seed)
        self.saved = self.refused = self.pushed = 0

    def save(self) -> None:
        """Save some files, based on the current or an older commit."""
        base = self.dice.choice([self.site.repo.head(), *self.site.repo.commits()[:3]])
        there = sorted(self.site.oracle(base))
        edits = {edit["path"]: edit for edit in (self._edit(there) for _ in range(self.dice.randint(1, 8)))}
        links = {path for path, (_, mode, *_rest) in self.site.repo.entries().items() if mode == SYMLINK}
        answer = self.site.commit(*edits.values(), base=base)
        possible = {200, 201, 409} if _is_possible(edits.values()) else {400}
        if any(edit["action"] == "update" and edit["path"] in links for edit in edits.values()):
            possible = {400, 409, 422}
        assert answer.status in possible, answer.json
        self.saved += answer.status == 201
        self.refused += answer.status in (400, 409, 422)

    def push(self) -> None:
        """Commit without a notification, sometimes after a reset of the branch."""
        repo = self.site.repo
        if self.dice.random() < 0.1 and len(repo.commits()) > 4:
            repo.git("update-ref", "refs/heads/main", repo.commits()[2])
        files: dict[str, Content] = {}
        for _ in range(self.dice.randint(1, 20)):
            mode = self.dice.choice(["100644", "100755", "120000"])
            files[self._path()] = self.dice.choice([None, (mode, self._bytes() or b"x")])
        there = self.site.oracle()
        files = {p: c for p, c in files.items() if (c is not None or p in there) and not _clashes(p, there)}
        if files:
            repo.commit(files, "Pushed")
            self.pushed += 1

    def check(self) -> None:
        """Compare the index and the responses of the API with git."""
        self.site.owner.post(self.site.path("/reindex"), {}).ok(202)
        self.site.world.work_off()
        assert self.site.blobs() == self.site.oracle()
        with self.site.world.app.app_context():
            transactions.start_reading()
            project = db.session.get_one(Project, self.site.project)
            index = indexes.find(project.id, "main")
            assert index is not None
            assert list(differences(index, source_of(project, drivers.git))) == []

    def _edit(self, there: list[str]) -> dict[str, Any]:
        action = self.dice.choice(["create", "update", "update", "delete", "move"])
        content = {"content": base64.b64encode(self._bytes()).decode(), "encoding": "base64"}
        if action == "create" or not there:
            return {"path": self._path(), "action": "create"} | content
        known = self.dice.choice(there)
        if action == "move":
            return {"path": self._path(), "action": "move", "previous_path": known}
        return {"path": known, "action": action} | (content if action == "update" else {})

    def _path(self) -> str:
        folders = [self.dice.choice(NAMES) for _ in range(self.dice.randint(0, 3))]
        return "/".join([*folders, f"{self.dice.choice(NAMES)}-{self.dice.randint(0, 60)}.md"])

    def _bytes(self) -> bytes:
        return self.dice.randbytes(self.dice.choice([0, 3, 50, 3_000]))


def _is_possible(edits: Iterable[dict[str, Any]]) -> bool:
    """Return whether each file has one change and no file moves to its own path."""
    taken = [edit.get("previous_path", edit["path"]) for edit in edits if edit["action"] != "create"]
    return len(set(taken)) == len(taken) and all(edit.get("previous_path") != edit["path"] for edit in edits)


def _clashes(path: str, there: dict[str, Any]) -> bool:
    """Return whether the path is a folder, or below a file."""
    return any(name.startswith(f"{path}/") or path.startswith(f"{name}/") for name in there)

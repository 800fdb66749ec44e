"""Pairs of editors that save at the same time on separate nodes, with outside pushes and faults of the host."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.doubles.plumbing import Plumbing
from tests.support.doubles.server import Double, Fault, Reply
from tests.support.parallel import together
from tests.support.samples.gitrepo import Content
from tests.support.world import Answer, Person

LANES = 3
"""Pairs under way at once."""

PUSHED_AT = 10
"""Every so many pairs, somebody pushes to the file that they edit."""

LINGERING = 3
"""Faults of earlier pairs that may still be met."""

ELSEWHERE = 8
"""Files that only pushes from outside change."""

SLOW_S = 5.0
"""Longer than the application under test waits for an answer."""

BUSY = Reply(429, {"message": "Too many requests"}, {"Retry-After": "1"})
SECONDARY = Reply(403, {"message": "You have exceeded a secondary rate limit"}, {"Retry-After": "1"})
PROXY = Reply(502, b"<html>Bad gateway</html>")
BROKEN, AWAY = Reply(500, {"message": "oops"}), Reply(503, {"message": "away"})

Edit = dict[str, Any]


def host_faults(moves: str, reads: str) -> list[Callable[[], list[Fault]]]:
    """Return functions that create the faults of a host."""
    return [
        lambda: [Fault(moves, lose=True)],
        lambda: [Fault(reads, reply=BUSY, skip=random.randint(0, 5))],
        lambda: [Fault(moves, reply=PROXY)],
        lambda: [Fault(moves, cut=True)],
        lambda: [Fault("POST", reply=SECONDARY, skip=random.randint(0, 3))],
        lambda: [Fault(reads, times=2, reply=AWAY, skip=random.randint(0, 5))],
        lambda: [Fault(moves, delay_s=SLOW_S)],
        lambda: [Fault(moves, times=2, reply=BROKEN)],
        lambda: [Fault(reads, cut=True, skip=random.randint(0, 5)), Fault(moves, lose=True)],
        lambda: [Fault(moves, lose=True), Fault(reads, times=12, reply=AWAY)],
    ]


WEATHER = {
    "github": host_faults(r"PATCH .*/git/refs/heads/", r"GET .*/git/"),
    "gitlab": host_faults(r"POST .*/repository/commits$", r"GET .*/repository/"),
}


@dataclass
class Site:
    """A project, its two editors, its bare repository, and the double of its host if there is one."""

    editors: tuple[Person, Person]
    project: str
    git: Plumbing
    host: Double | None = None
    kind: str = "local"


@dataclass(frozen=True)
class Save:
    """One edit of a pair and its result."""

    number: int
    side: str
    base: str
    paths: frozenset[str]
    answer: Answer

    @property
    def subject(self) -> str:
        return _subject(self.number, self.side)

    @property
    def is_alone(self) -> bool:
        """Return whether the files of the edit are used by this editor alone."""
        return self.number % 6 in (1, 5) and self.number % PUSHED_AT != PUSHED_AT - 1


def initial_files(pairs: int) -> dict[str, Content]:
    """Return the files of a repository for this number of pairs. All have equal contents."""
    own = [_page(number, side) for number in range(pairs) for side in "ab"]
    return dict.fromkeys([*own, *(f"elsewhere/{number}.md" for number in range(ELSEWHERE))], b"As it was\n")


@dataclass
class Pairs:
    """A run of pairs with its saves and responses."""

    site: Site
    seed: int = 7
    saves: list[Save] = field(default_factory=list)
    pushes: list[str] = field(default_factory=list)
    faults: int = 0
    _count: Iterator[int] = field(default_factory=count)

    def run(self, number: int) -> None:
        """Run the pairs, a few in parallel. A push happens during every second pair."""
        self.site.git.git("config", "core.logAllRefUpdates", "always")
        self.start, self._dice, self._lock = self.site.git.head(), random.Random(self.seed), threading.Lock()
        try:
            with ThreadPoolExecutor(LANES) as lanes:
                list(lanes.map(self._pair, range(number)))
        finally:
            if self.site.host:
                self.site.host.faults.clear()

    def statuses(self) -> dict[str, int]:
        """Return the number of responses by status and code."""
        counts = Counter(
            str(save.answer.status) if save.answer.status == 201 else f"{save.answer.status} {save.answer.json['code']}"
            for save in self.saves
        )
        return dict(sorted(counts.items()))

    def _pair(self, number: int) -> None:
        base = self.site.git.head()
        if self.site.host:
            brewing = WEATHER[self.site.kind][number % len(WEATHER[self.site.kind])]()
            with self.site.host.lock:
                # Faults that no request met end here. Otherwise they would accumulate until the host is down.
                self.site.host.faults[:] = [*self.site.host.faults[-LINGERING:], *brewing]
            self.faults += len(brewing)
        if number % PUSHED_AT == PUSHED_AT - 1:
            self._push({_page(number, "a"): b"pushed from elsewhere\n"})
        asked = edits(number)
        saves = [
            self._saving(who, number, side, base, edit)
            for who, side, edit in zip(self.site.editors, "ab", asked, strict=True)
        ]
        with ThreadPoolExecutor(1) as outside:
            pushing = [outside.submit(self._push_elsewhere)] if number % 2 else []
            answers = together(saves)
        for push in pushing:
            push.result()
        made = [
            Save(number, side, base, _paths(edit), answer)
            for side, edit, answer in zip("ab", asked, answers, strict=True)
        ]
        with self._lock:
            self.saves += made

    def _saving(self, who: Person, number: int, side: str, base: str, edit: Edit) -> Callable[[], Answer]:
        body = {"message": _subject(number, side), "base_sha": base, "files": [edit]}
        return lambda: who.again().post(f"/project-content/{self.site.project}/commit", body)

    def _push_elsewhere(self) -> None:
        self._push({f"elsewhere/{self._dice.randrange(ELSEWHERE)}.md": f"{len(self.pushes)}\n".encode()})

    def _push(self, files: Mapping[str, bytes]) -> None:
        """Commit on a known head and move the branch, as `git push` does."""
        git = self.site.git
        who = {"name": "Outside", "email": "outside@mail.example.org", "date": "2026-11-01T10:00:00+00:00"}
        while True:
            head = git.head()
            tree = git.write_tree(head, [("100644", git.write_blob(data), path) for path, data in files.items()])
            made = git.write_commit(tree, [head], f"Pushed {next(self._count)}", who, who)
            if git.move("main", made, head):
                with self._lock:
                    self.pushes.append(made)
                return


def edits(number: int) -> tuple[Edit, Edit]:
    """Return the edits of both editors of a pair."""
    a, b, new = _page(number, "a"), _page(number, "b"), f"new/{number}.md"
    return [
        (_write("update", a, "mine"), _write("update", a, "yours")),
        (_write("update", a, "mine"), _write("update", b, "yours")),
        (_write("create", new, "mine"), _write("create", new, "yours")),
        (_write("update", a, "mine"), {"path": a, "action": "delete"}),
        ({"path": new, "action": "move", "previous_path": a}, _write("update", a, "yours")),
        (_write("create", new, "mine"), {"path": b, "action": "delete"}),
    ][number % 6]


def _page(number: int, side: str) -> str:
    return f"pages/{number % 40}/{number}-{side}.md"


def _write(action: str, path: str, words: str) -> Edit:
    return {"path": path, "action": action, "content": f"{path} {words}\n"}


def _subject(number: int, side: str) -> str:
    return f"Pair {number} {side}"


def _paths(edit: Edit) -> frozenset[str]:
    return frozenset({edit["path"], edit.get("previous_path", edit["path"])})

"""Generated repository with changed, moved and removed files."""

import random
from dataclasses import dataclass, field

from tests.support.samples.gitrepo import Content, GitRepo

IMAGE = b"\x89PNG\r\n\x1a\n\0"


@dataclass
class _Site:
    """The present files and the random choices."""

    files: dict[str, bytes]
    choice: random.Random
    changed: dict[str, Content] = field(default_factory=dict)

    def put(self, path: str, content: bytes) -> None:
        self.files[path] = self.changed[path] = content

    def remove(self, path: str) -> bytes:
        self.changed[path] = None
        return self.files.pop(path)

    def step(self, number: int) -> None:
        """Change one or two files."""
        path = self.choice.choice(sorted(self.files))
        match number % 5:
            case 0:
                self.put(f"content/ü {number}.md", _text(self.choice, 30))
            case 1:
                self.put(f"moved/{number}.md", self.remove(path) + b"moved\n")
            case 2 if len(self.files) > 4:
                self.remove(path)
            case 3:
                self.put(f"images/{number}.png", IMAGE + self.choice.randbytes(40))
            case _:
                self.put(path, self.files[path] + b"edited %d\n" % number)


def _text(choice: random.Random, lines: int) -> bytes:
    return b"".join(b"line %d %d\n" % (number, choice.randrange(10**6)) for number in range(lines))


def first_files(seed: int) -> dict[str, Content]:
    """Return the files of the first commit."""
    choice = random.Random(seed)
    return {f"content/{number}.md": _text(choice, 30) for number in range(6)}


def extend(repo: GitRepo, seed: int, commits: int) -> list[str]:
    """Add commits to `main`, and return all of them, newest first."""
    files = {path: bytes(content) for path, content in first_files(seed).items() if isinstance(content, bytes)}
    site = _Site(files, random.Random(seed + 1))
    made = []
    for number in range(commits):
        site.changed = {}
        site.step(number)
        made.append((site.changed, f"Change {number}\n\nCo-authored-by: Grace <grace@mail.example.org>\n"))
    repo.commit_all(made)
    return repo.commits()


def all_paths(repo: GitRepo) -> list[str]:
    """Return every path that any commit contains."""
    names = repo.git("log", "--format=", "--name-only", "--no-renames", "-z", "main").decode().split("\0")
    return sorted({name.strip("\n") for name in names} - {""})


def numstat(repo: GitRepo, base: str, head: str) -> dict[str, tuple[str | None, int | None, int | None]]:
    """Return {path: (previous path, additions, deletions)} from `git diff --numstat`."""
    values = {}
    records = iter(repo.git("diff", "--numstat", "-z", base, head).decode().split("\0")[:-1])
    for record in records:
        added, removed, path = record.split("\t", 2)
        previous = None if path else next(records)
        counts = [None if text == "-" else int(text) for text in (added, removed)]
        values[path or next(records)] = (previous, *counts)
    return values

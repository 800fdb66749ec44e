"""Source marks in the files of editable sandboxes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import sqlalchemy as sa

from app.content.marks import MAX_NUMBER, MarkRules, mark_file, mark_rules
from app.content.schema.model import ContentSchema
from app.drivers.git.hosts import GitHosts
from app.drivers.git.object_ids import blob_sha
from app.extensions import db
from app.models.project import Project
from app.models.sandbox import MARKS_OF_SANDBOX, MarkRange, PreviewState, Sandbox
from app.models.user import Actor
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.index import indexes
from app.resources.source_marks.queries import packed

UNMARKED_REASON = "The site does not start with marks in its files"
LOG_CHARACTERS = 64 * 1024
_NAMES = re.compile(r"[^\s\"'`():,;<>\[\]]+")


def prepare(sandbox: Sandbox) -> None:
    """Set the numbers of a new sandbox, and leave the marks out with which the last start failed.

    First the files that the log names are unmarked, then all. The start after that has all marks again.
    """
    last = db.session.scalar(
        sa.select(Sandbox)
        .where(Sandbox.project_id == sandbox.project_id, Sandbox.editable)
        .order_by(Sandbox.created_at.desc(), Sandbox.id.desc())
        .limit(1)
    )
    sandbox.first_mark = ((last.first_mark or 0) + MARKS_OF_SANDBOX) % (MAX_NUMBER + 1) if last is not None else 0
    if last is None or last.state is not PreviewState.FAILED or not last.is_marked:
        return
    paths = set() if last.unmarked_paths else named_paths(last)
    if paths:
        sandbox.unmarked_paths = sorted(paths)
    else:
        sandbox.unmarked_reason = UNMARKED_REASON


def named_paths(sandbox: Sandbox) -> set[str]:
    """Return the marked files that the end of the log of a failed start names, with or without folders above."""
    marked = set(db.session.scalars(sa.select(MarkRange.path).where(MarkRange.sandbox_id == sandbox.id)))
    names = set(_NAMES.findall((sandbox.log or "")[-LOG_CHARACTERS:]))
    ends = ("/".join(name.split("/")[start:]) for name in names for start in range(min(name.count("/") + 1, 20)))
    return marked.intersection(ends)


@dataclass
class MarkedSite:
    """The rows of the marks of a site. Numbers from `first` to `last` are free.

    Files without a text, and those for which no numbers are left, have no marks.
    """

    sandbox_id: str
    rules: MarkRules
    first: int
    last: int
    unmarked: frozenset[str]
    rows: list[dict[str, object]] = field(default_factory=list)

    def mark(self, texts: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of a site with marks. All texts together have the rules of values."""
        self.rules = mark_rules(
            self.rules.schema, texts.items(), reads_markdown_as_mdx=self.rules.reads_markdown_as_mdx
        )
        return {path: self.add(path, data) for path, data in texts.items()}

    def add(self, path: str, data: bytes) -> bytes:
        """Mark a file and return its content."""
        marked = None if path in self.unmarked else mark_file(path, data, self.first, self.rules)
        if marked is None or not marked.positions or self.first + len(marked.positions) > self.last + 1:
            return data
        last = self.first + len(marked.positions) - 1
        row = {"sandbox_id": self.sandbox_id, "first_number": self.first, "last_number": last, "path": path}
        self.rows.append(row | {"blob_sha": blob_sha(data), "positions": packed(marked.positions)})
        self.first = last + 1
        return marked.data


def begin(sandbox: Sandbox, rules: MarkRules) -> MarkedSite:
    """Return the numbers of a start, after those of an earlier start of the sandbox.

    A start needs at most half of the numbers of a sandbox, so that edits have the others. It begins again at the first
    number if less is left.
    """
    site = _remaining(sandbox, rules)
    if site.last - site.first < MARKS_OF_SANDBOX // 2:
        site.first = sandbox.first_mark or 0
    return site


def _remaining(sandbox: Sandbox, rules: MarkRules) -> MarkedSite:
    first = sandbox.first_mark or 0
    last = db.session.scalar(sa.select(sa.func.max(MarkRange.last_number)).where(MarkRange.sandbox_id == sandbox.id))
    free = first if last is None else last + 1
    return MarkedSite(sandbox.id, rules, free, first + MARKS_OF_SANDBOX - 1, frozenset(sandbox.unmarked_paths or ()))


def record(sandbox: Sandbox, site: MarkedSite) -> None:
    """Store the positions and rules of a start. Rows of earlier starts with the same numbers are removed."""
    sandbox.mark_rules = {"excluded": sorted(site.rules.excluded), "reads_mdx": site.rules.reads_markdown_as_mdx}
    if not site.rows:
        return
    start = cast(int, site.rows[0]["first_number"])
    _delete_from(sandbox, start)
    db.session.execute(sa.insert(MarkRange), site.rows)


def schema_of(project: Project, user_id: str, git: GitHosts) -> ContentSchema:
    """Return the schema of the working branch. Calls the Git host."""
    return ContentBranch(project, indexes.find(project.id, project.branch), Actor(user_id), git).schema()


def mark_edit(sandbox: Sandbox, path: str, data: bytes, schema: ContentSchema) -> bytes:
    """Return the new text of a file with marks, and store their positions. The row of the sandbox is locked.

    A version that was written before has the same numbers again.
    """
    if sandbox.mark_rules is None:
        return data
    stored = sandbox.mark_rules
    rules = MarkRules(schema, frozenset(stored["excluded"]), reads_markdown_as_mdx=stored["reads_mdx"])
    same = sa.select(MarkRange).where(MarkRange.sandbox_id == sandbox.id, MarkRange.path == path)
    row = db.session.scalar(same.where(MarkRange.blob_sha == blob_sha(data)).limit(1))
    if row is not None:
        marked = mark_file(path, data, row.first_number, rules)
        return marked.data if marked is not None and packed(marked.positions) == row.positions else data
    site = _remaining(sandbox, rules)
    content = site.add(path, data)
    if site.rows:
        db.session.execute(sa.insert(MarkRange), site.rows)
    return content


def _delete_from(sandbox: Sandbox, number: int) -> None:
    db.session.execute(sa.delete(MarkRange).where(MarkRange.sandbox_id == sandbox.id, MarkRange.first_number >= number))

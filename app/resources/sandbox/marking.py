"""Source marks in the files of editable sandboxes."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from app.concurrency.threadpool import offload
from app.content.marks import MAX_NUMBER, MarkRules, mark_again, mark_file, mark_rules
from app.content.schema.model import ContentSchema
from app.database import transactions
from app.drivers.git.hosts import GitHosts
from app.drivers.git.object_ids import blob_sha
from app.extensions import db
from app.models.project import Project
from app.models.sandbox import MARKS_OF_SANDBOX, MarkRange, PreviewState, Sandbox
from app.models.user import Actor
from app.resources.project_content.actions import ContentBranch
from app.resources.project_content.index import indexes
from app.resources.source_marks.queries import find_positions, offsets_of, packed

UNMARKED_REASON = "The site does not start with marks in its files"
LOG_CHARACTERS, MAX_UNMARKED = 64 * 1024, 1_000
_NAMES = re.compile(r"[^\s\"'`():,;<>\[\]]+")


def prepare(sandbox: Sandbox) -> None:
    """Set the numbers of a new sandbox, and leave the marks out with which the last start failed.

    First the files that the log names are unmarked, then all. The start after that has all marks again.
    """
    last = db.session.scalar(_newest(sandbox.project_id))
    sandbox.unmarked_values = last.unmarked_values if last is not None else None
    sandbox.first_mark = ((last.first_mark or 0) + MARKS_OF_SANDBOX) % (MAX_NUMBER + 1) if last is not None else 0
    if last is None or last.state is not PreviewState.FAILED or not last.is_marked:
        return
    paths = set() if last.unmarked_paths else named_paths(last)
    if paths:
        sandbox.unmarked_paths = sorted(paths)
    else:
        sandbox.unmarked_reason = UNMARKED_REASON


def _newest(project_id: str) -> sa.Select[Sandbox]:
    of_project = sa.select(Sandbox).where(Sandbox.project_id == project_id, Sandbox.editable)
    return of_project.order_by(Sandbox.created_at.desc(), Sandbox.id.desc()).limit(1)


def leave_out(project: Project, numbers: Sequence[int]) -> None:
    """Leave the marks of some values out from the next start: pages have them in attributes, addresses or scripts."""
    sources = find_positions(project.id, numbers).values()
    values = [(source.path, source.position.pointer) for source in sources if source.position.pointer is not None]
    sandbox = db.session.scalar(_newest(project.id).with_for_update())
    if sandbox is not None and values:
        known = [(path, pointer) for path, pointer in sandbox.unmarked_values or ()]
        sandbox.unmarked_values = sorted({*known, *values})[:MAX_UNMARKED]


def named_paths(sandbox: Sandbox) -> set[str]:
    """Return the marked files that the end of the log of a failed start names, with or without folders above."""
    marked = set(db.session.scalars(sa.select(MarkRange.path).where(MarkRange.sandbox_id == sandbox.id)))
    names = set(_NAMES.findall((sandbox.log or "")[-LOG_CHARACTERS:]))
    ends = ("/".join(name.split("/")[start:]) for name in names for start in range(min(name.count("/") + 1, 20)))
    return marked.intersection(ends)


@dataclass
class MarkedSite:
    """The rows of the marks of a site. Files without a text, and those for which no numbers remain, have no marks.

    `earlier` are the positions of an earlier start by path and blob, with the digest of its rules.
    """

    sandbox_id: str
    rules: MarkRules
    numbers: range
    unmarked: frozenset[str]
    earlier: Mapping[tuple[str, str], bytes]
    earlier_digest: str | None
    rows: list[dict[str, object]] = field(default_factory=list)

    def mark(self, texts: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files of a site with marks. All texts together have the rules of values."""
        self.rules = mark_rules(
            self.rules.schema,
            texts.items(),
            unmarked=self.rules.unmarked,
            reads_markdown_as_mdx=self.rules.reads_markdown_as_mdx,
        )
        if _digest(self.rules, self.unmarked) != self.earlier_digest:
            self.earlier = {}
        return {path: self._mark_file(path, data) for path, data in texts.items()}

    def _mark_file(self, path: str, data: bytes) -> bytes:
        """Return a file with marks. A version of the earlier start has its marks at the same offsets."""
        sha, first = blob_sha(data), self.numbers.start
        positions = self.earlier.get((path, sha))
        if positions is not None:
            offsets = offsets_of(positions)
            marked = mark_again(data, offsets, first)
        else:
            result = None if path in self.unmarked else mark_file(path, data, first, self.rules)
            if result is None:
                return data
            positions, offsets, marked = packed(result.positions, result.offsets), list(result.offsets), result.data
        if len(offsets) > len(self.numbers):
            return data
        self.rows.append(_row(self.sandbox_id, self.numbers[: len(offsets)], path, sha, positions))
        self.numbers = self.numbers[len(offsets) :]
        return marked


def begin(sandbox: Sandbox, rules: MarkRules) -> MarkedSite:
    """Return the numbers of a start, after those of an earlier start of the sandbox.

    A start needs at most half of the numbers of a sandbox, so that edits have the others. It begins again at the first
    number if less remain.
    """
    numbers = _free_numbers(sandbox)
    if len(numbers) < MARKS_OF_SANDBOX // 2:
        numbers = range(sandbox.first_mark or 0, numbers.stop)
    rules = replace(rules, unmarked=_unmarked(sandbox))
    earlier, digest = _earlier_start(sandbox)
    return MarkedSite(sandbox.id, rules, numbers, frozenset(sandbox.unmarked_paths or ()), earlier, digest)


def _earlier_start(sandbox: Sandbox) -> tuple[dict[tuple[str, str], bytes], str | None]:
    """Return the positions of the last start of the project by path and blob, and the digest of its rules."""
    started = (Sandbox.project_id == sandbox.project_id, Sandbox.editable, Sandbox.mark_rules.is_not(None))
    newest = sa.select(Sandbox).where(*started).order_by(Sandbox.created_at.desc(), Sandbox.id.desc()).limit(1)
    last = db.session.scalar(newest)
    if last is None or last.mark_rules is None:
        return {}, None
    of_start = sa.select(MarkRange.path, MarkRange.blob_sha, MarkRange.positions)
    rows = db.session.execute(of_start.where(MarkRange.sandbox_id == last.id))
    return {(row.path, row.blob_sha): row.positions for row in rows}, last.mark_rules["digest"]


def _digest(rules: MarkRules, unmarked: Collection[str]) -> str:
    """Return the digest of everything but the text of a file that decides about its marks."""
    values = (sorted(rules.excluded), sorted(rules.unmarked), sorted(rules.limits))
    parts = (*values, sorted(unmarked), rules.reads_markdown_as_mdx)
    return hashlib.sha256(repr((parts, rules.schema)).encode()).hexdigest()


def _unmarked(sandbox: Sandbox) -> frozenset[tuple[str, str]]:
    return frozenset((path, pointer) for path, pointer in sandbox.unmarked_values or ())


def _free_numbers(sandbox: Sandbox) -> range:
    start = sandbox.first_mark or 0
    last = db.session.scalar(sa.select(sa.func.max(MarkRange.last_number)).where(MarkRange.sandbox_id == sandbox.id))
    return range(start if last is None else last + 1, start + MARKS_OF_SANDBOX)


def _row(sandbox_id: str, numbers: range, path: str, sha: str, positions: bytes) -> dict[str, object]:
    row = {"sandbox_id": sandbox_id, "path": path, "blob_sha": sha, "positions": positions}
    return row | {"first_number": numbers.start, "last_number": numbers.stop - 1}


def record(sandbox: Sandbox, site: MarkedSite) -> None:
    """Store the positions and rules of a start. Rows of earlier starts with the same numbers are removed."""
    rules = site.rules
    sandbox.mark_rules = {
        "excluded": sorted(rules.excluded),
        "reads_mdx": rules.reads_markdown_as_mdx,
        "limits": sorted(rules.limits),
        "digest": _digest(rules, site.unmarked),
    }
    if not site.rows:
        return
    earlier = sa.delete(MarkRange).where(MarkRange.sandbox_id == sandbox.id)
    db.session.execute(earlier.where(MarkRange.first_number >= site.rows[0]["first_number"]))
    db.session.execute(sa.insert(MarkRange), site.rows)


def schema_of(project: Project, user_id: str, git: GitHosts) -> ContentSchema:
    """Return the schema of the working branch. Calls the Git host."""
    return ContentBranch(project, indexes.find(project.id, project.branch), Actor(user_id), git).schema()


def mark_edit(sandbox: Sandbox, path: str, data: bytes, schema: ContentSchema) -> bytes:
    """Return the new text of a file with marks, and store their positions. A former version has its numbers again.

    No row is locked while the text is parsed.
    """
    stored = sandbox.mark_rules
    if stored is None or path in (sandbox.unmarked_paths or ()):
        return data
    rules = MarkRules(
        schema,
        frozenset(stored["excluded"]),
        _unmarked(sandbox),
        reads_markdown_as_mdx=stored["reads_mdx"],
        limits=frozenset(stored["limits"]),
    )
    with transactions.outside_transaction():
        marked = offload(mark_file, path, data, 0, rules)
    if marked is None:
        return data
    with transactions.write_transaction():
        db.session.refresh(sandbox, with_for_update=True)
        positions = packed(marked.positions, marked.offsets)
        first = _first_number(sandbox, path, blob_sha(data), positions, len(marked.offsets))
    return data if first is None else mark_again(data, marked.offsets, first)


def _first_number(sandbox: Sandbox, path: str, sha: str, positions: bytes, count: int) -> int | None:
    """Return the first number of a version of a file. Store a new version. None: the numbers are used up."""
    of_version = (MarkRange.sandbox_id == sandbox.id, MarkRange.path == path, MarkRange.blob_sha == sha)
    for row in db.session.scalars(sa.select(MarkRange).where(*of_version)):
        if row.positions == positions:
            return row.first_number
    numbers = _free_numbers(sandbox)
    if count > len(numbers):
        return None
    db.session.execute(sa.insert(MarkRange), _row(sandbox.id, numbers[:count], path, sha, positions))
    return numbers.start

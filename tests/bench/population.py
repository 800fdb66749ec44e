"""Tables filled with the data of many customers, for the figures of `docs/scale.md`. PostgreSQL only."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa

from app.content.links import Link
from app.content.search_text import SearchText
from app.core.permissions import Role
from app.database import inserts, transactions
from app.extensions import db
from app.models.base import Base, utcnow_ms
from app.models.login import Session
from app.models.organization import Membership, Organization
from app.models.project import Project, Provider
from app.models.project_content import ContentBlob, ContentFile, ContentIndex, IndexStatus
from app.models.project_log import LogAction, LogSource, ProjectLogEntry
from app.models.user import User
from app.resources.project_content.index import indexing, search_indexing
from tests.bench import large

FACTS = '{"fields": {"title": "Page", "date": "2024-01-02"}, "title": "Page", "headings": ["Page"], "lines": 12}'
TABLES = (
    "users", "sessions", "organizations", "memberships", "projects", "content_indexes", "content_files",
    "content_blobs", "content_links", "content_texts", "project_log_entries",
)  # fmt: skip


@dataclass(frozen=True)
class Population:
    """The number of rows. Files, blobs, links and log entries are per project."""

    projects: int = 10_000
    organizations: int = 1_000
    files: int = 20
    texts: int = 3_000

    def fill(self) -> None:
        """Write all rows and update the statistics of the database."""
        for rows in (self._people(), self._groups(), self._projects()):
            for model, values in rows:
                with transactions.write_transaction():
                    db.session.execute(sa.insert(model), values)
        self._copy(ContentFile, indexing.COLUMNS, self._files())
        self._copy(ContentBlob, ("project_id", "sha", "kind", "facts"), self._blobs())
        self._copy(ProjectLogEntry, _LOG, self._log())
        for part in inserts.batches(self._texts(), 500):
            search_indexing._store(_id("prj", 0), part)
        with db.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(sa.text("VACUUM ANALYZE"))

    def _people(self) -> Iterator[tuple[type[Base], list[dict[str, Any]]]]:
        numbers = range(self.organizations)
        yield User, [
            {"id": _id("usr", n), "email": f"u{n}@mail.example.org", "email_key": f"u{n}@mail.example.org", "name": f"U {n}"}
            for n in numbers
        ]  # fmt: skip
        times = dict.fromkeys(("expires_at", "idle_expires_at", "last_seen_at"), utcnow_ms())
        yield Session, [
            {"id": _id("ses", n), "user_id": _id("usr", n), "token_hash": _sha(n, 64), "user_agent": "Mozilla/5.0 " * 8, **times}
            for n in numbers
        ]  # fmt: skip

    def _groups(self) -> Iterator[tuple[type[Base], list[dict[str, Any]]]]:
        numbers = range(self.organizations)
        yield Organization, [{"id": _id("org", n), "name": f"Agency {n}", "owner_id": _id("usr", n)} for n in numbers]
        yield (
            Membership,
            [{"organization_id": _id("org", n), "user_id": _id("usr", n), "role": Role.OWNER} for n in numbers],
        )

    def _projects(self) -> Iterator[tuple[type[Base], list[dict[str, Any]]]]:
        numbers = range(self.projects)
        yield Project, [
            {
                "id": _id("prj", n), "organization_id": _id("org", n % self.organizations), "name": f"Site {n}",
                "creator_id": _id("usr", n % self.organizations), "provider": Provider.LOCAL,
                "repository": f"acme/site-{n}", "branch": "main",
            }
            for n in numbers
        ]  # fmt: skip
        yield ContentIndex, [
            {
                "id": _id("idx", n), "project_id": _id("prj", n), "branch": "main", "status": IndexStatus.READY,
                "commit_sha": _sha(n, 40), "generation": 1, "files": self.files,
            }
            for n in numbers
        ]  # fmt: skip

    def _files(self) -> Iterator[tuple[Any, ...]]:
        for n in range(self.projects):
            for k in range(self.files):
                path = f"content/posts/2024/some-title-{k:04}.md"
                yield _id("idx", n), 1, path, "blob", "100644", _sha(n * 1_000 + k, 40), 1_800, None, None

    def _blobs(self) -> Iterator[tuple[Any, ...]]:
        for n in range(self.projects):
            for k in range(self.files):
                yield _id("prj", n), _sha(n * 1_000 + k, 40), "markdown", FACTS

    def _log(self) -> Iterator[tuple[Any, ...]]:
        now = utcnow_ms()
        for n in range(self.projects):
            for k in range(self.files):
                yield (
                    _id("log", n * 1_000 + k), _id("prj", n), LogAction.UPDATE.value, f"content/posts/{k}.md", "markdown",
                    _id("usr", n % self.organizations), "Somebody", LogSource.COMMIT.value, _sha(n * 1_000 + k, 40), now,
                )  # fmt: skip

    def _texts(self) -> Iterator[search_indexing._Read]:
        dice = random.Random(1)
        for n in range(self.texts):
            said = dice.choices(large.VOCABULARY, k=350)
            yield search_indexing._Read(
                _sha(n, 40), SearchText(f"Page {n}", " ".join(said), [], said, [Link(f"/posts/page-{n}/", "link")])
            )

    def _copy(self, model: type[Base], columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
        for part in inserts.batches(rows, 10_000):
            with transactions.write_transaction():
                inserts.insert(db.session.connection(), cast("sa.Table", model.__table__), columns, part)


_LOG = ("id", "project_id", "action", "file", "file_type", "user_id", "user_name", "source", "commit_sha", "created_at")


def _id(prefix: str, number: int) -> str:
    return f"{prefix}_{number:026}"


def _sha(number: int, length: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:length]


def row_sizes() -> Iterator[tuple[str, int, float, float]]:
    """Return the number of rows per table and the bytes per row, with and for indexes."""
    with db.engine.connect() as connection:
        for table in TABLES:
            rows = connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))
            whole, indexes = connection.execute(
                sa.text("SELECT pg_total_relation_size(:name), pg_indexes_size(:name)"), {"name": table}
            ).one()
            if rows:
                yield table, rows, whole / rows, indexes / rows

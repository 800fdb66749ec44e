"""The index of a project's files: one row a branch, its files by generation, and what is known of each blob."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, id_column, reference, word_column

# Git orders paths by bytes; the database must too.
PathText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


class IndexStatus(StrEnum):
    """How far a branch's index is."""

    QUEUED = "queued"
    INDEXING = "indexing"
    READY = "ready"
    STALE = "stale"
    FAILED = "failed"


class ContentIndex(Timestamps, Base):
    """The index of one branch. Readers see the files of `generation` only, so a new one appears all at once.

    `described_sha` is the commit up to which the files' text can be searched, `looked_at` when the poll last asked a
    remote host for the branch's head; `snapshot_key` names the tree of `snapshot_sha` in the object store.
    """

    __tablename__ = "content_indexes"
    __table_args__ = (sa.UniqueConstraint("project_id", "branch"),)

    id: Mapped[str] = id_column("idx")
    project_id: Mapped[str] = reference("projects.id", index=False)
    branch: Mapped[str]
    status: Mapped[IndexStatus] = word_column(IndexStatus, "index_status", default=IndexStatus.QUEUED)
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    described_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    generation: Mapped[int] = mapped_column(default=0)
    files: Mapped[int] = mapped_column(default=0)
    indexed_at: Mapped[datetime | None]
    looked_at: Mapped[datetime | None]
    progress: Mapped[int | None]
    problem: Mapped[str | None]
    snapshot_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    snapshot_key: Mapped[str | None]


class ContentSnapshot(Base):
    """Where trees were stored before the object store had them; nothing reads or writes it.

    The version before does while both run, so the table goes with a later migration.
    """

    __tablename__ = "content_snapshots"

    index_id: Mapped[str] = mapped_column(sa.ForeignKey("content_indexes.id", ondelete="CASCADE"), primary_key=True)
    commit_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    body: Mapped[bytes] = mapped_column(sa.LargeBinary)


class ContentFile(Base):
    """One path of a branch in one generation.

    `folded` is the path as search compares it, where case alone does not make it so. There is no foreign key: checking it
    would double the time that indexing takes; `project_content.sweeping` takes away what is left over.
    """

    __tablename__ = "content_files"

    index_id: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    path: Mapped[str] = mapped_column(PathText, primary_key=True)
    type: Mapped[str] = mapped_column(sa.String(8))
    mode: Mapped[str] = mapped_column(sa.String(6))
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    size: Mapped[int | None] = mapped_column(sa.BigInteger)
    folded: Mapped[str | None]
    last_commit: Mapped[dict[str, Any] | None]


class ContentBlob(Base):
    """What reading a blob as a file of that kind told (front matter, headings, links …); kept by content, not by path."""

    __tablename__ = "content_blobs"

    project_id: Mapped[str] = mapped_column(
        sa.String(40), sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(120), primary_key=True)
    facts: Mapped[dict[str, Any]]

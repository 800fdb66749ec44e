"""Tables of the content index: one row per branch, its files by generation, and the parsed blobs. Drafts and images."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms
from app.models.project import Project

# Git orders paths by bytes, so the database must do the same.
PathText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


FOLDER_OF_FILE = "rtrim(path, replace(path, '/', ''))"
"""The folder of a path with its last slash, as SQL of both databases. `ix_content_files_folder` contains it."""

IS_IMAGE = (
    "lower(substr(path, length(rtrim(path, replace(path, '.', ''))) + 1)) "
    "IN ('apng', 'avif', 'bmp', 'gif', 'heic', 'ico', "
    "'jfif', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp')"
)
"""The condition that the ending of a path is that of an image. It is the condition of `ix_content_files_image`."""

EXPRESSION_INDEXES = ("ix_content_files_folder", "ix_content_files_image")
"""Indexes of expressions, which the models do not declare, because SQLAlchemy cannot read them from SQLite."""


class IndexStatus(StrEnum):
    """The status of the index of a branch."""

    QUEUED = "queued"
    INDEXING = "indexing"
    READY = "ready"
    STALE = "stale"
    FAILED = "failed"


class ContentIndex(Timestamps, Base):
    """The index of one branch. Readers see the files of `generation` only, so a new generation appears at once.

    `described_sha` is the commit up to which the text of the files can be searched, `shaped_sha` the commit up to
    which the sets of fields of all entries are stored, and `listed_sha` the commit up to which all files have their
    values for lists. `looked_at` is the time at which
    the poll last read the branch head from a remote host. `snapshot_key` names the tree of `snapshot_sha` in the object
    store, and `snapshot_changes` the paths that changed since then.
    """

    __tablename__ = "content_indexes"
    __table_args__ = (sa.UniqueConstraint("project_id", "branch"),)

    id: Mapped[str] = id_column("idx")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    branch: Mapped[str]
    status: Mapped[IndexStatus] = enum_column(IndexStatus, "index_status", default=IndexStatus.QUEUED)
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    described_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    shaped_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    listed_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    generation: Mapped[int] = mapped_column(default=0)
    files: Mapped[int] = mapped_column(default=0)
    indexed_at: Mapped[datetime | None]
    looked_at: Mapped[datetime | None]
    progress: Mapped[int | None]
    problem: Mapped[str | None]
    snapshot_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    snapshot_key: Mapped[str | None]
    snapshot_changes: Mapped[dict[str, Any] | None]


OF_WORKING_BRANCH = sa.and_(ContentIndex.project_id == Project.id, ContentIndex.branch == Project.branch)
"""The condition that joins a project with the index of its working branch."""


class ContentFile(Base):
    """A path of a branch in one generation.

    `folded` is the folded form of a path that is not ASCII, for the search. `title_key`, `date_key` and `is_draft` are
    the values by which a folder is sorted and filtered. They repeat the text of the blob, and are NULL until a job has
    read it. There is no foreign key, because its check would double the indexing time.
    `app.resources.project_content.index.cleanup` deletes orphaned rows.
    """

    __tablename__ = "content_files"
    __table_args__ = (sa.Index("ix_content_files_sha", "index_id", "generation", "sha"),)

    index_id: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    path: Mapped[str] = mapped_column(PathText, primary_key=True)
    type: Mapped[str] = mapped_column(sa.String(8))
    mode: Mapped[str] = mapped_column(sa.String(6))
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    size: Mapped[int | None] = mapped_column(sa.BigInteger)
    folded: Mapped[str | None]
    last_commit: Mapped[dict[str, Any] | None]
    title_key: Mapped[str | None] = mapped_column(PathText)
    date_key: Mapped[str | None] = mapped_column(PathText)
    is_draft: Mapped[bool | None]


class ContentBlob(Base):
    """The parsed content of a blob as a file of one kind (front matter, headings, links …).

    The key is the content, not the path.
    """

    __tablename__ = "content_blobs"

    project_id: Mapped[str] = mapped_column(
        sa.String(40), sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(120), primary_key=True)
    facts: Mapped[dict[str, Any]]


class ProjectDraft(Timestamps, Base):
    """The unsaved text of a user for a file.

    `base_blob_sha` is the blob from which the edit started, None for a new file.
    """

    __tablename__ = "project_drafts"
    __table_args__ = (sa.UniqueConstraint("project_id", "user_id", "branch", "file"),)

    id: Mapped[str] = id_column("drf")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    user_id: Mapped[str] = foreign_key("users.id")
    branch: Mapped[str]
    file: Mapped[str]
    content: Mapped[str]
    base_blob_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))


class DraftImage(Base):
    """An image that a user uploaded for the draft of a file. The save of the file commits it, if the text names it.

    `path` is the path of the future file, and `url` its address in the text. `blob_sha` is that of a file, of any kind,
    of the entry of which the draft is a copy. The save commits it in any case. Its bytes are stored only if the host
    does not commit blobs.
    """

    __tablename__ = "draft_images"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "user_id", "branch", "file", "path"),
        sa.Index("ix_draft_images_created_at", "created_at"),
    )

    id: Mapped[str] = id_column("dim")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    user_id: Mapped[str] = foreign_key("users.id")
    branch: Mapped[str]
    file: Mapped[str]
    path: Mapped[str]
    url: Mapped[str]
    size: Mapped[int] = mapped_column(sa.BigInteger)
    content: Mapped[bytes | None] = mapped_column(sa.LargeBinary, deferred=True)
    blob_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

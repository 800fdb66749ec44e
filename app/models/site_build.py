"""Tables of site builds: the static output of commits, and the files of each output."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column


class BuildState(StrEnum):
    """The state of a build. The output of an expired one is deleted."""

    WAITING = "waiting"
    INSTALLING = "installing"
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"
    EXPIRED = "expired"


DIGEST_LENGTH = 32

RUNNING = (BuildState.INSTALLING, BuildState.BUILDING)
SANDBOX_PREFIX = "build-"
"""The names of the sandboxes of builds start with it. Those of previews are hexadecimal."""
UNFINISHED = (BuildState.WAITING, *RUNNING)
ADDRESS_LABEL = "build"
"""The label in the address with which all sites are built, so that equal pages of two builds are equal files.

The label of the build replaces it in the served texts. It is not hexadecimal, so no site is served there.
"""


class SiteBuild(Timestamps, Base):
    """The build of a commit. `change_set_id` is the set that asked for it.

    `label` is the first part of its host name and has 128 random bits. `attempt` counts the starts: only the last one
    may change the row. `node` and `host_id` name its sandbox while it runs. `code`, `problem`, `step`, `hint` and `log`
    describe a failure.
    """

    __tablename__ = "site_builds"
    __table_args__ = (
        sa.Index("ix_site_builds_project_id_commit_sha", "project_id", "commit_sha"),
        sa.Index("ix_site_builds_state", "state", "id"),
    )

    id: Mapped[str] = id_column("bld")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    change_set_id: Mapped[str | None] = foreign_key("change_sets.id", ondelete="SET NULL")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    commit_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    label: Mapped[str] = mapped_column(sa.String(ID_LENGTH), unique=True)
    state: Mapped[BuildState] = enum_column(BuildState, "build_state", default=BuildState.WAITING)
    attempt: Mapped[int] = mapped_column(default=0)
    node: Mapped[str | None] = mapped_column(sa.String(255))
    host_id: Mapped[str | None] = mapped_column(sa.String(255))
    code: Mapped[str | None] = mapped_column(sa.String(64))
    problem: Mapped[str | None]
    step: Mapped[str | None] = mapped_column(sa.String(64))
    hint: Mapped[str | None]
    log: Mapped[str | None] = mapped_column(sa.Text, deferred=True)
    files: Mapped[int | None]
    size: Mapped[int | None] = mapped_column(sa.BigInteger)
    stored: Mapped[int | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None] = mapped_column(index=True)


class SiteBuildFile(Base):
    """A file of a ready build. Its content is an object of the project under its hash.

    Pages have a title and the digests of `app.content.rendered_page`.
    """

    __tablename__ = "site_build_files"
    __table_args__ = (sa.Index("ix_site_build_files_project_id_sha256", "project_id", "sha256"),)

    build_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("site_builds.id", ondelete="CASCADE"), primary_key=True
    )
    path: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    sha256: Mapped[str] = mapped_column(sa.String(64))
    size: Mapped[int] = mapped_column(sa.BigInteger)
    mimetype: Mapped[str] = mapped_column(sa.String(100))
    title: Mapped[str | None]
    content_digest: Mapped[str | None] = mapped_column(sa.String(DIGEST_LENGTH))
    frame_digest: Mapped[str | None] = mapped_column(sa.String(DIGEST_LENGTH))

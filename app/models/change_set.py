"""Tables of change sets: branches with edits that are reviewed and published together, their reviews and comments."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms


class ChangeSetState(StrEnum):
    """The state of a change set. `app.resources.change_set.states` contains the transitions."""

    DRAFT = "draft"
    IN_REVIEW = "in_review"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"
    SCHEDULED = "scheduled"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    REVERTED = "reverted"
    CLOSED = "closed"
    FAILED = "failed"


class Verdict(StrEnum):
    """The verdict of a review."""

    APPROVE = "approve"
    CHANGES = "changes"
    COMMENT = "comment"


class ScheduledAction(StrEnum):
    """The action of a schedule. `unpublish` reverts a published set."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"


class NoticeKind(StrEnum):
    """The subject of a notice."""

    REVIEW_REQUESTED = "review_requested"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"
    COMMENT = "comment"
    MENTIONED = "mentioned"
    PUBLISHED = "published"
    PUBLISH_FAILED = "publish_failed"


class ChangeSet(Timestamps, Base):
    """A change set. Its content is the difference of `base_sha` and `head_sha`, and is not stored.

    `base_sha` is the commit of the working branch from which the branch of the set starts. `version` counts the
    changes of the row, for `If-Match`. Until `busy_until`, one request or job writes to the branch.

    While a set is `publishing`, `publish_from` is the head of the working branch before the first attempt,
    `previous_state` the state to which a refused publication returns, `publisher_id` the user in whose name it is
    published, and `request_number` the pull request that the host merges. `published_parent_sha` is the commit before
    `published_sha`. `problem` is the reason of the state `failed`.

    `token_id` and `token_name` name the API token that created the set.
    """

    __tablename__ = "change_sets"
    __table_args__ = (
        sa.UniqueConstraint("project_id", "branch"),
        sa.Index("ix_change_sets_project_id_state_id", "project_id", "state", "id"),
    )

    id: Mapped[str] = id_column("chg")
    project_id: Mapped[str] = foreign_key("projects.id", index=False)
    title: Mapped[str] = mapped_column(sa.String(200))
    description: Mapped[str | None]
    state: Mapped[ChangeSetState] = enum_column(ChangeSetState, "change_set_state", default=ChangeSetState.DRAFT)
    branch: Mapped[str]
    base_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    head_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    files: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)
    creator_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    token_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH))
    token_name: Mapped[str | None]
    busy_until: Mapped[datetime | None]
    publish_from: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    previous_state: Mapped[str | None] = mapped_column(sa.String(32))
    publisher_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    request_number: Mapped[int | None]
    published_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    published_parent_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    published_at: Mapped[datetime | None]
    problem: Mapped[str | None]
    reverts_id: Mapped[str | None] = foreign_key("change_sets.id", ondelete="SET NULL")


class ChangeSetPath(Base):
    """A path that a change set changes: the difference of its commits, for lists of pages."""

    __tablename__ = "change_set_paths"

    change_set_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("change_sets.id", ondelete="CASCADE"), primary_key=True
    )
    path: Mapped[str] = mapped_column(sa.Text, primary_key=True)


class ChangeSetAuthor(Base):
    """A user who committed to a change set through the service."""

    __tablename__ = "change_set_authors"

    change_set_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("change_sets.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class ChangeSetReviewer(Base):
    """A member who was asked to review a set."""

    __tablename__ = "change_set_reviewers"

    change_set_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("change_sets.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class ChangeSetReview(Base):
    """A review of the commit `head_sha`. It is valid while the commit is the head of the set.

    The review of a guest has no user. `link_id` is the review link and `guest_name` the name that the guest gave.
    """

    __tablename__ = "change_set_reviews"

    id: Mapped[str] = id_column("rvw")
    change_set_id: Mapped[str] = foreign_key("change_sets.id")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    link_id: Mapped[str | None] = foreign_key("review_links.id", ondelete="SET NULL")
    guest_name: Mapped[str | None]
    verdict: Mapped[Verdict] = enum_column(Verdict, "review_verdict")
    body: Mapped[str]
    head_sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)


class ChangeSetSchedule(Base):
    """The time at which a set is published or unpublished: a wall time in a zone, and the instant derived from them.

    `user_id` is the user who chose the time. The publication needs this user's rights.
    """

    __tablename__ = "change_set_schedules"

    change_set_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("change_sets.id", ondelete="CASCADE"), primary_key=True
    )
    wall_time: Mapped[str] = mapped_column(sa.String(16))
    timezone: Mapped[str] = mapped_column(sa.String(64))
    choice: Mapped[str | None] = mapped_column(sa.String(8))
    action: Mapped[ScheduledAction] = enum_column(ScheduledAction, "scheduled_action")
    due_at: Mapped[datetime] = mapped_column(index=True)
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)


class ChangeSetComment(Base):
    """A comment on a set, or on a path, a value (`pointer`) or a block of it (the hash of its text).

    The comment of a guest has no user, but a link and a name. `page` is the address of a page of the built site, and
    `quote` the text on it that the comment concerns, in the form of `app.content.text_quotes`.
    """

    __tablename__ = "change_set_comments"

    id: Mapped[str] = id_column("cmt")
    change_set_id: Mapped[str] = foreign_key("change_sets.id")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    body: Mapped[str]
    path: Mapped[str | None]
    pointer: Mapped[str | None]
    block: Mapped[str | None] = mapped_column(sa.String(64))
    link_id: Mapped[str | None] = foreign_key("review_links.id", ondelete="SET NULL")
    guest_name: Mapped[str | None]
    page: Mapped[str | None]
    quote: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    resolved_at: Mapped[datetime | None]
    resolved_by: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)


class Notice(Base):
    """News for a user about a change set. `text` are the words of the `actor`, or the reason of a failure.

    `actor_name` is the name of a guest, who is no user.

    `mailed_at` is the time at which the mail was enqueued, or at which it was decided that there is none.
    """

    __tablename__ = "notices"
    __table_args__ = (
        sa.Index("ix_notices_user_id_read_at", "user_id", "read_at"),
        sa.Index(
            "ix_notices_not_mailed",
            "created_at",
            sqlite_where=sa.text("mailed_at IS NULL"),
            postgresql_where=sa.text("mailed_at IS NULL"),
        ),
    )

    id: Mapped[str] = id_column("ntc")
    user_id: Mapped[str] = foreign_key("users.id", index=False)
    change_set_id: Mapped[str] = foreign_key("change_sets.id")
    kind: Mapped[NoticeKind] = enum_column(NoticeKind, "notice_kind")
    actor_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    actor_name: Mapped[str | None]
    text: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    read_at: Mapped[datetime | None]
    mailed_at: Mapped[datetime | None]

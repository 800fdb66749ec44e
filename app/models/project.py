"""Projects: a repository's branch connected to an organization; and whose the local repositories are."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, Timestamps, id_column, reference, word_column
from app.models.organization import Organization, Status


class Provider(StrEnum):
    """Where a repository lives; provider A is GitHub, provider B is GitLab."""

    GITHUB = "github"
    GITLAB = "gitlab"
    LOCAL = "local"


class Visibility(StrEnum):
    """A label for the published site; it opens nothing in this service."""

    PUBLIC = "public"
    PRIVATE = "private"


class Generator(StrEnum):
    """The static site generators Galley knows."""

    HUGO = "hugo"
    ASTRO = "astro"
    NEXTJS = "nextjs"
    ELEVENTY = "eleventy"
    JEKYLL = "jekyll"
    NUXT = "nuxt"
    SVELTEKIT = "sveltekit"
    GATSBY = "gatsby"
    TANSTACK = "tanstack"
    STATIC = "static"


class ConnectionStatus(StrEnum):
    """Whether a credential still reaches the repository."""

    ACTIVE = "active"
    NEEDS_RECONNECT = "needs_reconnect"


class Project(Timestamps, Base):
    """A connected repository. Empty `repository` and `branch` mean it is disconnected.

    With an `installation_id` the host's app acts on it, otherwise the credential of `connected_by`.
    """

    __tablename__ = "projects"
    __table_args__ = (
        sa.UniqueConstraint("organization_id", "name"),
        sa.Index("ix_projects_provider_repository", "provider", "repository"),
    )

    id: Mapped[str] = id_column("prj")
    organization_id: Mapped[str] = reference("organizations.id", index=False)
    creator_id: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    name: Mapped[str] = mapped_column(sa.String(100))
    image: Mapped[str | None] = mapped_column(
        sa.ForeignKey("media_assets.key", ondelete="SET NULL", use_alter=True), index=True
    )
    site_url: Mapped[str | None]
    provider: Mapped[Provider] = word_column(Provider, "provider")
    repository: Mapped[str] = mapped_column(default="")
    repository_id: Mapped[str | None]
    branch: Mapped[str] = mapped_column(default="")
    framework: Mapped[str | None] = mapped_column(sa.String(40))
    generator: Mapped[Generator | None] = word_column(Generator, "generator", nullable=True)
    paths: Mapped[dict[str, Any]] = mapped_column(default=dict)
    visibility: Mapped[Visibility] = word_column(Visibility, "visibility", default=Visibility.PRIVATE)
    status: Mapped[Status] = word_column(Status, "status", default=Status.ACTIVE)
    connection_status: Mapped[ConnectionStatus] = word_column(
        ConnectionStatus, "connection_status", default=ConnectionStatus.ACTIVE
    )
    connected_by: Mapped[str | None] = reference("users.id", ondelete="SET NULL")
    connection_account: Mapped[str | None]
    installation_id: Mapped[str | None] = mapped_column(sa.String(40))
    organization: Mapped[Organization] = relationship(lazy="raise")


class LocalRepository(Timestamps, Base):
    """Which organization a repository of the `local` provider belongs to; None waits for `flask git assign`."""

    __tablename__ = "local_repositories"

    name: Mapped[str] = mapped_column(sa.String(255), primary_key=True)
    organization_id: Mapped[str | None] = reference("organizations.id", ondelete="SET NULL")

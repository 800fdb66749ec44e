"""Tables of projects, imports of repositories, and organizations of local repositories."""

import json
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, aliased, mapped_column, relationship

from app.core.errors import ErrorMessage
from app.core.limits import TextLengths
from app.core.permissions import Access, Role
from app.models.base import Base, Timestamps, enum_column, foreign_key, id_column
from app.models.organization import ArchiveStatus, Membership, MembershipProject, Organization


class Provider(StrEnum):
    """The provider of a repository. Provider A is GitHub, provider B is GitLab."""

    GITHUB = "github"
    GITLAB = "gitlab"
    LOCAL = "local"

    @property
    def is_local(self) -> bool:
        """True if the repositories are stored on this installation."""
        return self == Provider.LOCAL


class Visibility(StrEnum):
    """A label for the published site. It has no effect on permissions."""

    PUBLIC = "public"
    PRIVATE = "private"


class Generator(StrEnum):
    """The site generators that a project may name."""

    HUGO = "hugo"
    ASTRO = "astro"
    NEXTJS = "nextjs"
    ELEVENTY = "eleventy"
    JEKYLL = "jekyll"
    NUXT = "nuxt"
    SVELTEKIT = "sveltekit"
    GATSBY = "gatsby"
    TANSTACK = "tanstack"
    MKDOCS = "mkdocs"
    DOCUSAURUS = "docusaurus"
    VITEPRESS = "vitepress"
    SPHINX = "sphinx"
    VITE = "vite"
    STATIC = "static"


MDX_GENERATORS = (Generator.DOCUSAURUS, Generator.NEXTJS)
"""Generators that read `.md` as MDX. Its escapes are valid in Markdown, too."""


class Publishers(StrEnum):
    """The members who may publish and schedule change sets, and take published ones back at once."""

    EDITORS = "editors"
    ADMINS = "admins"


class ConnectionStatus(StrEnum):
    """The status of the connection between a project and its repository."""

    ACTIVE = "active"
    NEEDS_RECONNECT = "needs_reconnect"


class Project(Timestamps, Base):
    """A connected repository. Empty `repository` and `branch` mean that the project is disconnected.

    With an `installation_id` the GitHub App accesses the repository, otherwise the credential of `connected_by`.
    """

    __tablename__ = "projects"
    __table_args__ = (
        sa.UniqueConstraint("organization_id", "name"),
        sa.Index("ix_projects_provider_repository", "provider", "repository"),
    )

    id: Mapped[str] = id_column("prj")
    organization_id: Mapped[str] = foreign_key("organizations.id", index=False)
    creator_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    name: Mapped[str] = mapped_column(sa.String(TextLengths.PROJECT_NAME))
    image: Mapped[str | None] = mapped_column(
        sa.ForeignKey("media_assets.key", ondelete="SET NULL", use_alter=True), index=True
    )
    site_url: Mapped[str | None]
    provider: Mapped[Provider] = enum_column(Provider, "provider")
    repository: Mapped[str] = mapped_column(default="")
    repository_id: Mapped[str | None]
    branch: Mapped[str] = mapped_column(default="")
    framework: Mapped[str | None] = mapped_column(sa.String(40))
    # No constraint: the list grows, and an older version must read the values that a newer version wrote.
    generator: Mapped[str | None] = mapped_column(sa.String(32))
    paths: Mapped[dict[str, Any]] = mapped_column(default=dict)
    visibility: Mapped[Visibility] = enum_column(Visibility, "visibility", default=Visibility.PRIVATE)
    preview_network: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    build_change_sets: Mapped[bool] = mapped_column(default=True, server_default=sa.true())
    publishers: Mapped[str] = mapped_column(sa.String(16), default=Publishers.EDITORS, server_default="editors")
    required_approvals: Mapped[int] = mapped_column(default=1, server_default="1")
    change_set_prefix: Mapped[str] = mapped_column(sa.String(100), default="galley", server_default="galley")
    guest_approval: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    require_change_sets: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    status: Mapped[ArchiveStatus] = enum_column(ArchiveStatus, "status", default=ArchiveStatus.ACTIVE)
    connection_status: Mapped[ConnectionStatus] = enum_column(
        ConnectionStatus, "connection_status", default=ConnectionStatus.ACTIVE
    )
    connected_by: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    connection_account: Mapped[str | None]
    installation_id: Mapped[str | None] = mapped_column(sa.String(40))
    organization: Mapped[Organization] = relationship(lazy="raise")

    @hybrid_property
    def is_local(self) -> bool:
        """True if the repository is stored on this installation. The class attribute is a condition of statements."""
        return self.provider == Provider.LOCAL


_MEMBER, _CHOSEN = aliased(Membership), aliased(MembershipProject)
_IS_CHOSEN = sa.and_(
    _CHOSEN.project_id == Project.id,
    _CHOSEN.organization_id == _MEMBER.organization_id,
    _CHOSEN.user_id == _MEMBER.user_id,
)
_ROLE = (
    sa.select(sa.case((_MEMBER.access == Access.ALL, _MEMBER.role), else_=_CHOSEN.role))
    .outerjoin_from(_MEMBER, _CHOSEN, _IS_CHOSEN)
    .where(_MEMBER.organization_id == Project.organization_id)
    .correlate_except(_MEMBER, _CHOSEN)
)


def role_in_project(user_id: object) -> sa.ScalarSelect[Role]:
    """Return the expression of the role of a user in a project of the statement. It is NULL if the user has none.

    A member with the access `projects` has the role that an admin chose for the project, and none in other projects.
    """
    return _ROLE.where(_MEMBER.user_id == user_id).scalar_subquery()


class LocalRepository(Timestamps, Base):
    """The organization of a repository of the `local` provider.

    None means that `flask git assign` has not assigned it yet.
    """

    __tablename__ = "local_repositories"

    name: Mapped[str] = mapped_column(sa.String(255), primary_key=True)
    organization_id: Mapped[str | None] = foreign_key("organizations.id", ondelete="SET NULL")


class ImportStatus(StrEnum):
    """The status of an import. `connected` and `failed` are final."""

    WAITING = "waiting"
    RUNNING = "running"
    CONNECTED = "connected"
    FAILED = "failed"


class MessageText(sa.types.TypeDecorator[str]):
    """A message: its text, or its template and values as JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Convert a message with values to JSON."""
        if isinstance(value, ErrorMessage) and value.values:
            return json.dumps({"template": value.template, **value.values})
        return value

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Convert JSON to a message."""
        return ErrorMessage(**json.loads(value)) if value and value.startswith('{"template": ') else value


class RepositoryImport(Timestamps, Base):
    """A repository that is cloned from `url` as the local repository `repository`.

    `problem` is the code of the error of a failed import, `problem_text` its message.
    """

    __tablename__ = "repository_imports"

    id: Mapped[str] = id_column("imp")
    organization_id: Mapped[str] = foreign_key("organizations.id")
    user_id: Mapped[str] = foreign_key("users.id")
    project_id: Mapped[str | None] = foreign_key("projects.id", ondelete="SET NULL")
    repository: Mapped[str] = mapped_column(sa.String(255))
    project_name: Mapped[str] = mapped_column(sa.String(TextLengths.PROJECT_NAME))
    url: Mapped[str]
    status: Mapped[ImportStatus] = enum_column(ImportStatus, "import_status", default=ImportStatus.WAITING)
    received_bytes: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    problem: Mapped[str | None] = mapped_column(sa.String(40))
    problem_text: Mapped[str | None] = mapped_column(MessageText)

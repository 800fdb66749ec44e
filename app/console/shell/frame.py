"""The values around the content of a page: the user, the navigation and the preferences."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from flask import g, has_app_context, request

from app.access import authentication
from app.access.caller import Caller
from app.access.scope import Scope
from app.console.blueprint import ROOT
from app.console.shell import dates
from app.console.shell.field_labels import folder_label, page_name
from app.console.shell.translation import gettext as _
from app.content.schema.collection_groups import CollectionGroup, CollectionLanguage, group_of
from app.core.errors import AppError
from app.core.permissions import Permission, grants
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.sandbox.none import NoSandboxes
from app.extensions import drivers
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.change_set import notices
from app.resources.change_set import queries as change_sets
from app.resources.outbound_webhook import queries as webhook_queries
from app.resources.project import queries
from app.resources.project_content.index.indexes import is_first_reading
from app.resources.project_content.schema.site_content import (
    FileGroup,
    SingleFile,
    SiteContent,
    Translation,
    site_content,
    translations,
)
from app.resources.project_content.tree.folder_listing import titles_of
from app.resources.user_preference import service as preferences

MAX_PROJECTS = 50
ZONES_COOKIE = "galley_dismissed_zones"
"""The cookie with the time zones of browsers that the user does not want, separated by spaces."""

REBUILD_COOKIE = "galley_rebuild_hint"
"""The cookie of a user who has hidden the hint after a save. Its path is the project."""


@dataclass
class Frame:
    """The frame of a page. `shows_paths` is true in the developer view of the user."""

    caller: Caller | None
    theme: str = "system"
    shows_paths: bool = False
    organization: Organization | None = None
    project: Project | None = None
    index: ContentIndex | None = None
    role: str | None = None
    permissions: frozenset[str] = field(default_factory=frozenset)
    path: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def content(self) -> SiteContent:
        """The collections of the project. If its repository cannot be read, the navigation has none."""
        if self.project is None or self.caller is None:
            return SiteContent()
        try:
            with transactions.outside_transaction():
                return site_content(self.project, self.index, hosts=drivers.git, by=self.caller)
        except (AppError, DriverError):
            return SiteContent()

    @cached_property
    def collection(self) -> tuple[CollectionGroup, CollectionLanguage] | None:
        """The collection of the page and its language: that of the URL, or that of the open file."""
        if "file" in self.path:
            member = group_of(self.content.groups, self.path["file"])
            return member[:2] if member is not None else None
        group = self.content.group(self.path.get("name", ""))
        return (group, group.main) if group is not None else None

    @cached_property
    def described(self) -> tuple[FileGroup | None, SingleFile] | None:
        """The open file and its collection, if the schema describes the file by itself."""
        return self.content.described(self.path.get("file", ""))

    @property
    def list(self) -> CollectionGroup | FileGroup | None:
        """The collection of the page, or that of the open file."""
        if self.described is not None:
            return self.described[0]
        named = self.content.file_group(self.path.get("name", ""))
        return named or (self.collection[0] if self.collection is not None else None)

    @property
    def suggests_rebuild(self) -> bool:
        """True for a manager of a project on this server that no webhook reports, unless the hint is hidden."""
        if self.project is None or not self.project.is_local or not self.may("MANAGE_ORG"):
            return False
        return REBUILD_COOKIE not in request.cookies and not webhook_queries.reports(self.project)

    @property
    def known_zones(self) -> str | None:
        """The time zones that are not offered: that of the user and the dismissed ones. None: no zone is offered."""
        if self.caller is None or request.method != "GET":
            return None
        return f"{dates.user_zone_name()} {request.cookies.get(ZONES_COOKIE, '')}"

    @property
    def list_label(self) -> str:
        """The label of the list with the open file: that of its collection, else its folder, which may be empty."""
        folder = self._folder if self.shows_paths else folder_label(self._folder)
        return self.list.label if self.list is not None else folder

    def titles(self, paths: Collection[str]) -> dict[str, str]:
        """Return the title of each page: the label of the schema, else its own title, else the words of its path."""
        known = titles_of(self.project, self.index, paths) if self.project is not None else {}
        described = {path: self.content.described(path) for path in paths}
        return {
            path: own[1].label if own is not None else known.get(path) or page_name(path)
            for path, own in described.items()
        }

    def list_of(self, path: str) -> str:
        """Return the label of the collection with a page, or an empty text."""
        own, member = self.content.described(path), group_of(self.content.groups, path)
        if own is not None and own[0] is not None:
            return own[0].label
        return member[0].label if own is None and member is not None else ""

    def folder_choices(self, folder: str, language: str) -> Sequence[tuple[str, str]]:
        """Return the folders of pages in a language with their labels. The folder of the page is one of them."""
        groups = [group for group in self.content.groups if group.main.collection.can_create]
        labels = {folder: folder_label(folder)} if folder else {"": _("Top folder")}
        for group in groups:
            part = group.in_language(language)
            labels |= {path: folder_label(path, part.paths.folder, group.label) for path in part.folders}
        return sorted(labels.items(), key=lambda choice: choice[1].casefold())

    def list_url(self) -> str:
        """Return the URL of the list with the open file: its collection, else its folder."""
        path = f"collections/{quote(self.list.name)}" if self.list is not None else f"content/{quote(self._folder)}"
        if self.collection is not None and self.list is self.collection[0] and len(self.list.languages) > 1:
            path += f"?{urlencode({'locale': self.collection[1].language})}"
        return f"{self.project_url}/{path}"

    @property
    def _folder(self) -> str:
        return str(self.path.get("file", "")).rpartition("/")[0]

    @cached_property
    def translations(self) -> Sequence[Translation]:
        """The open file in all languages of its collection."""
        return translations(self.index, self.content.groups, self.path["file"]) if "file" in self.path else ()

    @cached_property
    def waiting(self) -> int:
        """The number of sets of changes of the project that wait for the user."""
        if self.project is None or self.caller is None:
            return 0
        return change_sets.count_waiting(self.caller.id, self.project.id)

    @cached_property
    def unread(self) -> int:
        """The number of unread notices of the user. The page of a set is opened to read those about it."""
        opened = self.path.get("change_set_id")
        return notices.count_unread(self.caller.id, without=opened) if self.caller is not None else 0

    @property
    def has_previews(self) -> bool:
        """True if the installation can run the site of a project."""
        return not isinstance(drivers.sandbox, NoSandboxes)

    @property
    def index_state(self) -> str | None:
        """The state of the index, if the shown content is incomplete: `queued`, `indexing` or `failed`. Else None."""
        if self.index is None or self.index.status == IndexStatus.FAILED:
            return "queued" if self.index is None else "failed"
        return str(self.index.status) if is_first_reading(self.index) else None

    @property
    def project_url(self) -> str:
        """The URL of the project of the page."""
        return f"{ROOT}/projects/{self.project.id}" if self.project is not None else ROOT

    @property
    def organization_url(self) -> str:
        """The URL of the organization of the page."""
        return f"{ROOT}/organizations/{self.organization.id}" if self.organization is not None else ROOT

    @property
    def other_projects(self) -> Sequence[Any]:
        """The ids and names of the other projects of the organization, for the menu above the navigation."""
        if self.project is None or self.caller is None:
            return ()
        return queries.other_names(self.project, user=self.caller, limit=MAX_PROJECTS)

    def may(self, permission: str) -> bool:
        """Return whether the role of the user grants a permission, for example `MANAGE_MEMBERS`."""
        return permission in self.permissions


def load_preferences() -> None:
    """Read language, time zone, theme and view of the user for this response."""
    caller = authentication.caller()
    if caller is None or "console_theme" in g:
        return
    row = preferences.read(caller)
    stored = row.updated_at != caller.created_at
    g.console_theme, g.console_timezone, g.console_paths = str(row.theme), row.timezone, row.developer_view
    g.console_language = row.language if stored else None


def leave_out_user() -> None:
    """Render the rest of the response without a user, so that it needs no database."""
    g.caller, g.console_scope = None, None


def site_address() -> str | None:
    """Return the address of the published site of the project of the page, if it is known."""
    scope: Scope | None = g.get("console_scope") if has_app_context() else None
    return scope.project.site_url if scope is not None and scope.project is not None else None


def current() -> Frame:
    """Return the frame of the response."""
    load_preferences()
    scope: Scope | None = g.get("console_scope")
    role = scope.role if scope is not None else None
    granted = frozenset(
        permission.name
        for permission in Permission
        if scope is not None and grants(scope.organization_role, permission)
    )
    return Frame(
        authentication.caller(),
        g.get("console_theme", "system"),
        g.get("console_paths", False),
        scope.organization if scope is not None else None,
        scope.project if scope is not None else None,
        scope.index if scope is not None else None,
        str(role) if role is not None else None,
        granted,
        scope.path if scope is not None else {},
    )

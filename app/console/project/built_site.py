"""The site with the changes of a set, as the page of the set shows it: the state of the build, and changed pages."""

from collections.abc import Sequence
from functools import cached_property
from urllib.parse import unquote

from app.console.files.page_source import branch_source, read_schema_before_calls
from app.console.shell.field_labels import page_name
from app.console.shell.translation import gettext as _
from app.content.draft_state import is_draft
from app.content.schema.validation import collection_of
from app.content.search_text import read_text
from app.core.errors import AppError
from app.core.permissions import Permission, grants
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.sandbox.port import SandboxHost
from app.models.site_build import UNFINISHED, BuildState
from app.resources.change_set.guards import ChangeSetScope
from app.resources.change_set.queries import changed_paths
from app.resources.change_set.states import OPEN
from app.resources.project_content.versions.comparison import read_versions
from app.resources.site_build import queries, service
from app.resources.site_build.changed_pages import PageComparison, compare

MAX_DRAFTS = 20
"""The files of a set that are read to find its drafts."""


def drafts_of(scope: ChangeSetScope, compared: PageComparison, head_sha: str) -> list[str]:
    """Return the titles of the drafts of a set that changes no page of the site: a build has no drafts.

    Calls the Git host. The list is empty if it does not respond.
    """
    if compared.state is not BuildState.READY or compared.all_pages or compared.pages:
        return []
    paths = changed_paths(scope.change_set.id)[:MAX_DRAFTS]
    schema = read_schema_before_calls(scope)
    try:
        with transactions.outside_transaction():
            contents = read_versions(branch_source(scope), [(head_sha, path) for path in paths])
    except (AppError, DriverError):
        return []
    titles = []
    for path, content in zip(paths, contents, strict=True):
        text, collection = read_text(path, content or b""), collection_of(schema, path)
        if text is not None and is_draft(text.front_matter or {}, collection.draft if collection is not None else None):
            titles.append(text.title or page_name(path))
    return titles


class SetSite:
    """The builds of a set and of the commit on which it is based. Its page shows at most `max_pages` pages."""

    max_pages = 50
    address = staticmethod(unquote)

    def __init__(self, scope: ChangeSetScope, host: SandboxHost, *, is_archived: bool) -> None:
        """Read the builds."""
        self.scope, self.host = scope, host
        self.is_open = scope.change_set.state in OPEN and not is_archived
        self.compared = compare(scope.change_set, scope.project)
        self.build, self.base = self.compared.build, self.compared.base

    @cached_property
    def drafts(self) -> Sequence[str]:
        """The titles of the drafts of the set if no page of the site changes."""
        return drafts_of(self.scope, self.compared, self.scope.change_set.head_sha)

    @property
    def state(self) -> str:
        """The state of the build in few kinds, or an empty text without a build."""
        state = self.build.state if self.build is not None else ""
        return str(BuildState.BUILDING if state is BuildState.INSTALLING else state)

    @property
    def progress(self) -> str:
        """A text that changes with the section of the page."""
        return f"{self.state}.{self.base.state if self.base is not None else ''}"

    @property
    def is_followed(self) -> bool:
        """True while a build runs or waits."""
        return any(build is not None and build.state in UNFINISHED for build in (self.build, self.base))

    @cached_property
    def can_build(self) -> bool:
        """True if the reader can request a build that is missing. Can start a process."""
        states = {build.state if build is not None else None for build in (self.build, self.base)}
        is_missing = bool(states & {BuildState.FAILED, BuildState.EXPIRED, None})
        return self.is_open and is_missing and service.can_build(self.host)

    @property
    def is_shown(self) -> bool:
        """False for an installation that does not build, and for a set that ended without a build."""
        return self.state == BuildState.READY or (self.is_open and (self.build is not None or self.can_build))

    @property
    def reason(self) -> str:
        """The reason of a failed build, for people who did not make the site."""
        code = self.build.code if self.build is not None else None
        if code == "NO_STATIC_OUTPUT":
            return _("The site needs a server, so it can only be seen after it is published.")
        if code == service.StorageLimitReached.code:
            return _("The storage for built sites is full. Ask an owner or administrator.")
        return "" if self.failures else _("Owners and administrators see the reason here.")

    @cached_property
    def failures(self) -> Sequence[queries.Shown]:
        """The technical reasons of failed builds, for owners and administrators."""
        builds = (self.build,) if self.state == BuildState.FAILED else (self.build, self.base)
        shown = [queries.shown(build)["failure"] for build in builds if build is not None]
        is_manager = grants(self.scope.role, Permission.MANAGE_PROJECTS)
        return [failure for failure in shown if isinstance(failure, dict)] if is_manager else []

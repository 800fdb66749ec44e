"""The version of a page that the editor shows and changes: that of the site, or that of a change set (`?set=`)."""

from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from flask import request

from app.access.caller import Caller
from app.access.guards import member_of_org
from app.access.scope import ProjectScope, Scope
from app.access.targets import Ids, Resolver, project
from app.console.blueprint import ROOT
from app.core.errors import NotFound
from app.core.ids import is_id
from app.extensions import db
from app.models.change_set import ChangeSet, ChangeSetState

BASE = "/projects/<project_id>"
MEMBER = member_of_org()
SET = "set"
"""The query parameter with the id of a change set."""

ENDED = frozenset({ChangeSetState.PUBLISHED, ChangeSetState.REVERTED, ChangeSetState.CLOSED})
"""The states of sets without a version of pages: their branch is deleted."""

_find_project = project("project_id")


def project_url(scope: Scope, path: str = "") -> str:
    """Return the URL of a page of the project."""
    return f"{ROOT}/projects/{scope.path['project_id']}{path}"


@dataclass(frozen=True, kw_only=True)
class EditorScope(ProjectScope):
    """The scope of a page of the editor. Without a change set it is the version of the site."""

    change_set: ChangeSet | None = None

    @property
    def branch(self) -> str | None:
        return self.change_set.branch if self.change_set is not None else self.project.branch


def in_set(scope: ProjectScope, change_set: ChangeSet | None) -> EditorScope:
    """Return the scope of the version of a change set, or of the site for None."""
    return EditorScope(**vars(scope) | {"change_set": change_set})


def find_set(scope: ProjectScope, set_id: str) -> ChangeSet:
    """Return a change set of the project. Raises NotFound."""
    change_set = db.session.get(ChangeSet, set_id) if is_id(set_id, "chg") else None
    if change_set is None or change_set.project_id != scope.project.id:
        raise NotFound("Change set not found")
    return change_set


def _find(caller: Caller | None, ids: Ids) -> EditorScope:
    scope, set_id = _find_project.find(caller, ids), request.args.get(SET)
    # A caller who is no member is refused before the set is read.
    return in_set(scope, find_set(scope, set_id) if set_id and scope.role is not None else None)


EDITOR = replace(MEMBER, find=Resolver(EditorScope, _find, ids=_find_project.ids))
"""The guard of the pages of the editor."""


def edit_url(scope: Scope, path: str, query: str = "") -> str:
    """Return the URL of the editor of a file, in the version of the scope."""
    return file_url(scope, "edit", path, query)


def file_url(scope: Scope, page: str, path: str, query: str = "") -> str:
    """Return the URL of a page of a file, in the version of the scope. `query` follows the parameter of the set."""
    change_set = scope.change_set if isinstance(scope, EditorScope) else None
    own = urlencode({SET: change_set.id}) if change_set is not None else ""
    joined = "&".join(filter(None, (own, query)))
    return project_url(scope, f"/{page}/{quote(path)}{f'?{joined}' if joined else ''}")


def set_query(scope: EditorScope) -> str:
    """Return the parameter of the change set with `&`, the start of the queries of a page, or an empty text."""
    return f"{urlencode({SET: scope.change_set.id})}&" if scope.change_set is not None else ""


def set_url(scope: EditorScope, query: str = "") -> str:
    """Return the URL of the page of the change set of a scope."""
    change_set_id = scope.change_set.id if scope.change_set is not None else ""
    return project_url(scope, f"/changes/{change_set_id}{f'?{query}' if query else ''}")


def proposed_url(to: EditorScope) -> str:
    """Return the URL of the page of a change set after a save in it."""
    return set_url(to, "done=proposed")

"""Guards of change sets: for members of the organization that owns the project. Others do not find the set."""

from dataclasses import dataclass

from app.access.guards import Guard, member_or_hidden
from app.access.scope import ProjectScope
from app.access.targets import IdKind, MemberResolver, MemberTable, of_member
from app.access.tokens import EDITS, TokenRule
from app.models.change_set import ChangeSet
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex
from app.resources.change_set.member_set import MemberSet
from app.resources.project_content.guards import branch_of


@dataclass(frozen=True, kw_only=True)
class ChangeSetScope(ProjectScope):
    """The scope of a route that names a change set."""

    change_set: ChangeSet


_CHANGE_SET = MemberTable(
    IdKind("chg", "a change set"),
    {"change_set": ChangeSet, "project": Project, "organization": Organization, "index": ContentIndex},
    Project.id == ChangeSet.project_id,
    Organization.id == Project.organization_id,
    OF_WORKING_BRANCH,
)


def change_set(param: str) -> MemberResolver[ChangeSetScope]:
    """Return a resolver of a change set by id, with its project and the role of the caller."""
    return of_member(ChangeSetScope, param, _CHANGE_SET)


def member_of_set(*, token: TokenRule = EDITS, param: str = "change_set_id") -> Guard:
    """Return a guard for members of the organization of a change set. For others the set does not exist."""
    return member_or_hidden(change_set(param), "Change set", token=token)


def set_of(scope: ChangeSetScope) -> MemberSet:
    """Return the change set of a request, for the actions."""
    return MemberSet(scope.change_set, branch_of(scope), scope.role)

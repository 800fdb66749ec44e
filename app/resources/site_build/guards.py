"""Guards of builds: for members of the organization that owns the project. Others do not find the build."""

from dataclasses import dataclass

from app.access.guards import Guard, member_or_hidden
from app.access.scope import ProjectScope
from app.access.targets import IdKind, MemberTable, of_member
from app.models.organization import Organization
from app.models.project import Project
from app.models.project_content import OF_WORKING_BRANCH, ContentIndex
from app.models.site_build import SiteBuild


@dataclass(frozen=True, kw_only=True)
class BuildScope(ProjectScope):
    """The scope of a route that names a build."""

    build: SiteBuild


_BUILD = MemberTable(
    IdKind("bld", "a build"),
    {"build": SiteBuild, "project": Project, "organization": Organization, "index": ContentIndex},
    Project.id == SiteBuild.project_id,
    Organization.id == Project.organization_id,
    OF_WORKING_BRANCH,
)


def member_of_build() -> Guard:
    """Return a guard for members of the organization of a build. For others the build does not exist."""
    return member_or_hidden(of_member(BuildScope, "build_id", _BUILD), "Build")

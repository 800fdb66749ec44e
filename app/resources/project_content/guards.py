"""The branch that a request names, for the actions."""

from app.access.scope import ProjectScope
from app.extensions import drivers
from app.resources.project_content.actions import ContentBranch


def branch_of(scope: ProjectScope, name: str | None = None) -> ContentBranch:
    """Return a branch of the project of a request, the working branch by default."""
    return ContentBranch(scope.project, scope.index, scope.actor, drivers.git, name)

"""Reads of the repository and commits before the transaction of a route."""

from app.access.scope import Scope
from app.content.schema.model import ContentSchema
from app.database import session
from app.extensions import drivers
from app.resources.project_content.commit_builder import Saved
from app.resources.project_content.front_matter import NoChange
from app.resources.project_content.prepare import branch_index, commit_to_host
from app.resources.project_content.schema_sources import content_schema
from app.resources.project_content.schemas.content import BranchQuery
from app.resources.project_content.source import source_of
from app.resources.project_schema.adoption import adoption
from app.resources.project_schema.schemas import AdoptSchemaBody


def branch_schema(scope: Scope, branch: str | None = None) -> ContentSchema:
    """Return the schema of a branch, the working branch by default."""
    return content_schema(scope.project, branch_index(scope, branch), hosts=drivers.git, by=scope.caller)


def read_schema(scope: Scope, query: BranchQuery) -> ContentSchema:
    """Return the schema of the branch of a query."""
    return branch_schema(scope, query.ref)


def adopt_schema(scope: Scope, body: AdoptSchemaBody) -> Saved | NoChange:
    """Create the commit that writes the schema of a branch to `.galley.yml`, or return NoChange if the file has it."""
    schema = branch_schema(scope, body.branch)
    source = source_of(scope.project, drivers.git, branch=body.branch, actor=scope.actor)
    session.release_connection()
    save = adoption(schema, source, base_sha=body.base_sha, message=body.message)
    if isinstance(save, NoChange):
        return save
    return commit_to_host(scope, save, body.branch)

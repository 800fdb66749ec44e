"""Routes of content schemas: the collections of a branch and their fields."""

from typing import Any

from app.access.guards import can_commit, member_of_org
from app.access.scope import ProjectScope
from app.content.schema.model import ContentSchema
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import ViewResult, endpoint
from app.http.upstream_errors import GIT_READ, SAVE
from app.resources.project_content import responses
from app.resources.project_content.saving.commit_builder import Saved
from app.resources.project_content.saving.front_matter import NoChange
from app.resources.project_content.schemas.content import BranchQuery, CommittedSchema
from app.resources.project_schema import prepare
from app.resources.project_schema.schemas import AdoptSchemaBody, ContentSchemaSchema

blueprint = ApiBlueprint(
    "project_schema",
    __name__,
    title="Content schemas",
    description="Collections of a branch with typed fields of the front matter.",
)


@blueprint.get("/<projectId>/schema")
@endpoint(
    guard=member_of_org("projectId"),
    query=BranchQuery,
    upstream=prepare.read_schema,
    result=ContentSchemaSchema,
    message="Content schema",
    errors=GIT_READ,
)
def read(*, scope: ProjectScope, query: BranchQuery, prepared: ContentSchema) -> dict[str, Any]:
    """Read the collections of a branch with their fields, from its schema file or inferred from its content."""
    return prepared.to_dict()


@blueprint.post("/<projectId>/schema/adopt")
@endpoint(
    guard=can_commit(lambda body: body.branch, "projectId"),
    body=AdoptSchemaBody,
    upstream=prepare.adopt_schema,
    result=CommittedSchema,
    status=201,
    other_status=200,
    message="The schema is saved",
    errors=("SCHEMA_EXISTS", "NOTHING_TO_ADOPT", *SAVE),
)
def adopt(*, scope: ProjectScope, body: AdoptSchemaBody, prepared: Saved | NoChange) -> ViewResult:
    """Save the schema of a branch as `.galley.yml`. If the file has it, there is no commit, and the status is 200."""
    return responses.save_result(scope, prepared)

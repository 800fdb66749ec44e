"""Routes of content schemas: the collections of a branch and their fields."""

from app.access.guards import can_commit, member_of_org
from app.access.scope import ProjectScope
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, SAVE, endpoint
from app.resources.project_content import responses
from app.resources.project_content.guards import branch_of
from app.resources.project_content.schemas.content import BranchQuery, CommittedSchema
from app.resources.project_schema import actions
from app.resources.project_schema.schemas import AdoptSchemaBody, ContentSchemaSchema

blueprint = ApiBlueprint(
    "project_schema",
    __name__,
    title="Content schemas",
    noun="project schema",
    description="Collections of a branch with typed fields of the front matter.",
)


@blueprint.get("/<projectId>/schema")
@endpoint(
    guard=member_of_org("projectId"),
    query=BranchQuery,
    outside=True,
    result=ContentSchemaSchema,
    message="Content schema",
    errors=GIT_READ,
)
def read(*, scope: ProjectScope, query: BranchQuery) -> dict[str, object]:
    """Read the collections of a branch with their fields, from its schema file or inferred from its content."""
    return branch_of(scope, query.ref).schema().to_dict()


@blueprint.post("/<projectId>/schema/adopt")
@endpoint(
    guard=can_commit(lambda body: body.branch, "projectId"),
    body=AdoptSchemaBody,
    outside=True,
    result=CommittedSchema,
    status=201,
    other_status=200,
    message="The schema is saved",
    errors=("SCHEMA_EXISTS", "NOTHING_TO_ADOPT", *SAVE),
)
def adopt(*, scope: ProjectScope, body: AdoptSchemaBody) -> UnrecordedAct[object]:
    """Save the schema of a branch as `.galley.yml`. If the file has it, there is no commit, and the status is 200."""
    branch = branch_of(scope, body.branch)
    return responses.save_result(actions.adopt_schema(branch, base_sha=body.base_sha, message=body.message))

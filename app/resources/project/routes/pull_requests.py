"""Routes of pull requests of provider A and merge requests of provider B (contract 4.6)."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import Schema, fields

from app.access.guards import roles
from app.access.scope import ProjectScope
from app.access.tokens import PUBLISHES
from app.core.outbound import UnrecordedAct
from app.core.permissions import Role
from app.drivers.git.port import PullRequest, PullRequestState
from app.extensions import drivers
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import GIT_READ, GIT_WRITE, PageResult, endpoint
from app.http.results import page_of
from app.http.validation import ListQuery, RequestBody, text
from app.resources.project import pull_requests
from app.resources.project.pull_requests import Proposal
from app.resources.project.schemas import branch_field

blueprint = ApiBlueprint(
    "pull_requests",
    __name__,
    title="Pull requests",
    description="Pull requests and merge requests at the Git host of a project.",
    parameters={
        "number": "The number of a pull request.",
    },
    patterns={"number": "^[0-9]+$"},
)

EVERYONE = (Role.OWNER, Role.ADMIN, Role.EDITOR)
PATH = "/<projectId>/pull-requests"


@dataclass(frozen=True, kw_only=True)
class CreatePullRequestBody(RequestBody):
    """The branches, title and description of a pull request."""

    title: Annotated[str, text(1, 255)]
    head: Annotated[str, branch_field()]
    base: Annotated[str, branch_field()]
    body: Annotated[
        str,
        text(
            0,
            65_536,
            required=False,
            load_default="",
            metadata={"description": "The text of the pull request in Markdown"},
        ),
    ]


class PullRequestSchema(Schema):
    """A pull request."""

    number = fields.Integer()
    title = fields.String()
    state = fields.Enum(PullRequestState, by_value=True)
    head = fields.String()
    base = fields.String()
    url = fields.String()


class MergedPullRequestSchema(Schema):
    """The result of a merge."""

    merged = fields.Boolean()
    commit_sha = fields.String()


@blueprint.get(PATH)
@endpoint(
    guard=roles(*EVERYONE, project="projectId"),
    query=ListQuery,
    result=PullRequestSchema,
    many=True,
    errors=("NO_PULL_REQUESTS", *GIT_READ),
)
def list_pull_requests(*, scope: ProjectScope, query: ListQuery) -> PageResult:
    """List the newest hundred pull requests of the project's repository. Their total number is not known."""
    newest = pull_requests.list_all(scope.project, hosts=drivers.git, user=scope.caller)
    return page_of(newest, query, kind="pulls", key=lambda pull: str(pull.number), is_complete=False)


@blueprint.post(PATH)
@endpoint(
    guard=roles(*EVERYONE, project="projectId"),
    body=CreatePullRequestBody,
    result=PullRequestSchema,
    status=201,
    message="Pull request created",
    outside=True,
    errors=(
        "NO_PULL_REQUESTS",
        *GIT_WRITE,
    ),
)
def create_pull_request(*, scope: ProjectScope, body: CreatePullRequestBody) -> PullRequest:
    """Create a pull request."""
    proposal = Proposal(body.title, body.head, body.base, body.body)
    return pull_requests.propose(scope.project, proposal, hosts=drivers.git, user=scope.caller)


@blueprint.post(f"{PATH}/<number>/merge")
@endpoint(
    guard=roles(*EVERYONE, project="projectId").for_tokens(PUBLISHES),
    result=MergedPullRequestSchema,
    message="Pull request merged",
    outside=True,
    errors=("NO_PULL_REQUESTS", "CHANGE_SET_REQUIRED", *GIT_WRITE),
)
def merge_pull_request(*, scope: ProjectScope) -> UnrecordedAct[dict[str, object]]:
    """Merge a pull request. A working branch that receives only change sets refuses it."""
    return pull_requests.merge(scope.project, scope.path["number"], hosts=drivers.git, user=scope.caller)

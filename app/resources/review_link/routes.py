"""Routes of review links: share a change set with a guest, list the links and revoke one."""

from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import PageResult, ViewResult, endpoint
from app.http.validation import PageQuery
from app.resources.change_set.guards import ChangeSetScope, member_of_set, set_of
from app.resources.change_set.service import check_publisher
from app.resources.review_link import actions, queries
from app.resources.review_link import schemas as s
from app.resources.review_link.guards import REVOKE, SHARES, LinkScope
from app.resources.review_link.queries import Shown

LINKS = "/<change_set_id>/review-links"

set_blueprint = ApiBlueprint(
    "change_set_links",
    __name__,
    title="Review links of a change set",
    noun="review links",
    description="Lists and makes review links.",
)
blueprint = ApiBlueprint(
    "review_link",
    __name__,
    title="Review links",
    noun="review link",
    description="A review link admits a guest without an account to one change set.",
    parameters={"link_id": "The id of a review link."},
)


@set_blueprint.get(LINKS)
@endpoint(
    guard=member_of_set(token=SHARES),
    query=PageQuery,
    result=s.ReviewLinkSchema,
    many=True,
    message="Review links",
    operation_id="listReviewLinks",
)
def list_links(*, scope: ChangeSetScope, query: PageQuery) -> PageResult:
    """List the review links of a change set, newest first. The caller needs the right to publish."""
    check_publisher(scope.project, scope.role)
    return PageResult(*queries.page(scope.change_set, cursor=query.cursor, limit=query.limit))


@set_blueprint.post(LINKS)
@endpoint(
    guard=member_of_set(token=SHARES),
    body=s.ShareBody,
    result=s.ReviewLinkSchema,
    status=201,
    other_status=200,
    outside=True,
    rate="review_link_create",
    message="Review link created",
    errors=("STATE", "LIMIT_REACHED", "SESSION_REQUIRED"),
    operation_id="createReviewLink",
)
def share(*, scope: ChangeSetScope, body: s.ShareBody) -> UnrecordedAct[ViewResult]:
    """Make a review link. An active one with the same settings and without a password is renewed (200)."""
    act = actions.share(set_of(scope), body.options, password=body.password, email=body.email)
    return UnrecordedAct(lambda: _shared(act.record()))


def _shared(shared: actions.Shared) -> ViewResult:
    message = "Review link created" if shared.is_new else "A link with these settings exists"
    return ViewResult(shared.shown, 201 if shared.is_new else 200, message=message)


@blueprint.delete("/<link_id>")
@endpoint(**vars(REVOKE), result=s.ReviewLinkSchema, message="Review link revoked", operation_id="deleteReviewLink")
def revoke(*, scope: LinkScope) -> Shown:
    """Revoke a review link. The next request of a guest is refused."""
    return actions.revoke(scope.link, scope.project, scope.role)

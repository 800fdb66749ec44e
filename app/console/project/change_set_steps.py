"""Forms of the page of a set of changes: each calls one step of the API."""

from flask import Response

from app.console.blueprint import blueprint
from app.console.project.change_set_texts import BLOCK, POINTER
from app.console.project.change_sets import SET, SET_MEMBER, set_url
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict, ErrorMessage
from app.models.change_set import ChangeSetState as State
from app.models.change_set import Verdict
from app.resources.change_set import routes
from app.resources.change_set.guards import ChangeSetScope
from app.resources.change_set.service import MAX_TITLE
from app.resources.project_content.saving.merging import MergeRefused

COMMENTED = "commented"


class LaterChanges(Conflict):
    """A revert that conflicts with later changes of the site (409)."""

    message = ErrorMessage("Later changes on the site touch the same texts. Take these changes back by hand")


def _ids(scope: ChangeSetScope) -> dict[str, str]:
    return {"change_set_id": scope.path["change_set_id"]}


@blueprint.post(f"{SET}/details")
@Page(guard=SET_MEMBER, inputs=("title", "description"), shown_by="change_set")
def change_details(*, scope: ChangeSetScope, form: Form) -> Response:
    """Change title and description."""
    data = {"title": form.text("title"), "description": form.optional("description")}
    api.write(routes.edit, _ids(scope), data, method="PATCH")
    return see_other(set_url(scope, "?done=saved"))


@blueprint.post(f"{SET}/submit")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def submit_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Ask for a review."""
    api.write(routes.submit, _ids(scope))
    return see_other(set_url(scope, "?done=submitted"))


@blueprint.post(f"{SET}/review")
@Page(guard=SET_MEMBER, inputs=("verdict", "text", "head_sha"), shown_by="change_set", names={"body": "text"})
def review_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Approve the changes, ask for others, or comment on them. A comment can be resolved."""
    verdict, text = form.text("verdict"), form.text("text").strip()
    if verdict == Verdict.COMMENT:
        api.write(routes.comment, _ids(scope), {"body": text})
        return see_other(set_url(scope, f"?done={COMMENTED}#discussion"))
    data = {"verdict": verdict, "body": text, "head_sha": form.optional("head_sha")}
    api.write(routes.review, _ids(scope), data)
    return see_other(set_url(scope, f"?done={verdict}"))


@blueprint.post(f"{SET}/comments")
@Page(guard=SET_MEMBER, inputs=("page", "part", "body"), shown_by="change_set", names={"path": "page"})
def comment_on_page(*, scope: ChangeSetScope, form: Form) -> Response:
    """Comment on a changed page, or on a field or a paragraph of it."""
    part = form.text("part")
    data = {"path": form.text("page"), "body": form.text("body").strip()}
    for name, prefix in (("pointer", POINTER), ("block", BLOCK)):
        if part.startswith(prefix):
            data[name] = part.removeprefix(prefix)
    stored = api.write(routes.comment, _ids(scope), data)
    return see_other(set_url(scope, f"?done={COMMENTED}#{stored['id']}"))


@blueprint.post(f"{SET}/comments/<comment_id>")
@Page(guard=SET_MEMBER, inputs=("resolved",), shown_by="change_set")
def resolve_comment(*, scope: ChangeSetScope, form: Form) -> Response:
    """Mark a comment as resolved, or open it again."""
    ids = _ids(scope) | {"comment_id": scope.path["comment_id"]}
    api.write(routes.resolve_comment, ids, {"resolved": form.is_checked("resolved")}, method="PATCH")
    return see_other(set_url(scope, f"?done=saved#{ids['comment_id']}"))


@blueprint.post(f"{SET}/publish")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def publish_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Publish the changes. If the site has other changes of the same texts, a page asks which ones to use."""
    try:
        published = api.write(routes.publish, _ids(scope))
    except MergeRefused:
        return see_other(set_url(scope, "/conflicts"))
    return see_other(set_url(scope, "?done=published" if published["state"] == State.PUBLISHED else ""))


@blueprint.post(f"{SET}/unschedule")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def remove_schedule(*, scope: ChangeSetScope, form: Form) -> Response:
    """Remove the time of the publication."""
    api.write(routes.remove_schedule, _ids(scope), method="DELETE")
    return see_other(set_url(scope, "?done=saved"))


@blueprint.post(f"{SET}/take-back")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def take_back(*, scope: ChangeSetScope, form: Form) -> Response:
    """Create a set that takes the published changes back.

    Raises:
        LaterChanges: other changes of the same texts followed.
    """
    try:
        created = api.write(routes.revert, _ids(scope))
    except MergeRefused as error:
        raise LaterChanges from error
    title = _("Take back “%(title)s”", title=scope.change_set.title)[:MAX_TITLE]
    api.write(routes.edit, {"change_set_id": created["id"]}, {"title": title}, method="PATCH")
    return see_other(set_url(scope, "?done=created", created["id"]))


@blueprint.post(f"{SET}/close")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def close_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Close the set. It cannot be opened again."""
    api.write(routes.close, _ids(scope), method="DELETE")
    return see_other(set_url(scope, "?done=closed"))

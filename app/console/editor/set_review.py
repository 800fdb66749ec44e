"""The review of a change set in the editor of one of its pages: the last text of a reviewer, comments and replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.console.files.destinations import PossibleReviewer, possible_reviewers
from app.console.files.page_source import OpenFile
from app.console.files.scope import EditorScope
from app.console.project.change_set_texts import comment_label, parts_of
from app.console.shell.forms import Form
from app.console.shell.translation import gettext as _
from app.content.page_changes import page_changes
from app.core.errors import FieldError, InvalidRequest
from app.http.actions import run
from app.models.change_set import ChangeSet, ChangeSetState, Verdict
from app.resources.change_set import actions, queries, reviews, service
from app.resources.change_set.guards import member_of_set, set_of
from app.resources.change_set.schemas import CommentBody
from app.resources.change_set.states import Step

REPLY, RESOLVE, REOPEN = "reply", "resolve", "reopen"
MAX_LISTED = 100
"""The comments that the editor shows. The form has an input for a reply to each of them."""
TEXT = "reply-"
"""The prefix of the inputs of replies. The id of the comment follows."""


@dataclass(frozen=True)
class SetReview:
    """The review of the change set of a page.

    Attributes:
        latest: the review or the comment on the whole set that the author has to know, or None.
        comments: the comments on the page, each with the part of the page that it concerns: of many only the last ones,
            those that are not resolved first.
        count: the number of comments on the page.
        people: the members who can be asked for a review, or None if it cannot be requested.
    """

    latest: Mapping[str, Any] | None
    comments: Sequence[tuple[Mapping[str, Any], str]]
    count: int
    people: Sequence[PossibleReviewer] | None


def read_review(scope: EditorScope, opened: OpenFile) -> SetReview | None:
    """Return the review of the change set of a page, or None for a page of the site."""
    row = scope.change_set
    if row is None:
        return None
    comments, _meta = queries.comments(row.id, cursor=None, limit=actions.MAX_COMMENTS)
    every = [comment for comment in comments if comment["path"] == opened.path]
    listed = sorted(every, key=lambda comment: comment["resolved_at"] is None)[-MAX_LISTED:]
    own = every if len(every) <= MAX_LISTED else listed
    has_block = any(comment["block"] is not None for comment in own)
    parts = parts_of((), page_changes(opened.path, b"", opened.data)) if has_block else []
    steps = service.available_steps(row, scope.project, scope.role, user=scope.caller)
    return SetReview(
        _latest(row, comments, scope.caller.id),
        [(comment, comment_label(comment, parts)) for comment in own],
        len(every),
        possible_reviewers(scope, row) if Step.SUBMIT in steps else None,
    )


def _latest(row: ChangeSet, comments: Sequence[Mapping[str, Any]], user_id: str) -> Mapping[str, Any] | None:
    """Return the request for changes that is not answered, else the last text of another person about the whole set."""
    listed, _meta = queries.reviews(row, cursor=None, limit=reviews.MAX_REVIEWS)
    if row.state == ChangeSetState.CHANGES_REQUESTED:
        return next((review for review in reversed(listed) if review["verdict"] == Verdict.CHANGES), None)
    is_open = (comment for comment in comments if comment["path"] is None and comment["resolved_at"] is None)
    on_set = ({**comment, "verdict": Verdict.COMMENT, "valid": True} for comment in is_open)
    entries = [entry for entry in [*listed, *on_set] if entry["body"] and dict(entry["user"])["id"] != user_id]
    return max(entries, key=lambda entry: str(entry["createdAt"]), default=None)


def is_answer(command: str) -> bool:
    """Return whether the command of a button answers a comment: `reply ID`, `resolve ID` or `reopen ID`."""
    return command.partition(" ")[0] in (REPLY, RESOLVE, REOPEN)


def answer_comment(scope: EditorScope, form: Form, command: str) -> None:
    """Run the command of the button at a comment. Others have no effect.

    Raises:
        InvalidRequest: the reply has no text.
        NotFound, LimitReached.
    """
    if scope.change_set is None or not is_answer(command):
        return
    verb, _sep, comment_id = command.partition(" ")
    if verb != REPLY:
        is_resolved = verb == RESOLVE
        run(
            lambda scope: actions.resolve_comment(set_of(scope), comment_id, resolved=is_resolved),
            {"change_set_id": scope.change_set.id},
            guard=member_of_set(),
        )
        return
    name = f"{TEXT}{comment_id}"
    if not form.text(name).strip():
        raise InvalidRequest.field(name, _("Write a reply."))
    _send(scope.change_set, form, name, _body(form, name))


def read_replies(form: Form) -> dict[str, str]:
    """Return the replies of a form by input. Raises InvalidRequest."""
    return {name: _body(form, name) for name in form.values if name.startswith(TEXT) and form.text(name).strip()}


def send_replies(scope: EditorScope, form: Form, replies: Mapping[str, str]) -> None:
    """Store the replies that a form contains when its text is saved. Raises NotFound, LimitReached."""
    if scope.change_set is not None:
        for name, body in replies.items():
            _send(scope.change_set, form, name, body)


def _body(form: Form, name: str) -> str:
    try:
        return CommentBody.loaded({"body": form.text(name).replace("\r\n", "\n").strip()}).body
    except InvalidRequest as error:
        raise InvalidRequest(fields=[FieldError(name, field.message) for field in error.fields]) from error


def _send(change_set: ChangeSet, form: Form, name: str, body: str) -> None:
    comment_id, ids = name.removeprefix(TEXT), {"change_set_id": change_set.id}
    run(lambda scope: actions.reply(set_of(scope), comment_id, body=body), ids, guard=member_of_set())
    del form.values[name]

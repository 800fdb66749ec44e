"""Forms of the page of a set of changes: each takes one step."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import Response
from marshmallow import ValidationError

from app.console.blueprint import blueprint
from app.console.files.destinations import (
    CHOSEN,
    MESSAGE,
    NEW,
    REVIEWERS,
    TITLE,
    new_set,
    review_request,
    run_on,
)
from app.console.project.change_set_texts import BLOCK, POINTER
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.shell import dates
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.core import clock
from app.core.errors import AppError, ErrorMessage, InvalidRequest
from app.core.locales import is_time_zone, time_zones
from app.http.actions import run
from app.models.change_set import ChangeSetState as State
from app.models.change_set import ScheduledAction, Verdict
from app.resources.change_set import actions, moves
from app.resources.change_set.guards import ChangeSetScope, set_of
from app.resources.change_set.queries import Shown
from app.resources.change_set.reviews import Review
from app.resources.change_set.schedule import EARLIER, LATER, WallTime
from app.resources.change_set.schemas import CommentBody, EditChangeSetBody, MoveBody, ReviewBody, check_wall_time
from app.resources.project_content.saving.refusals import MergeRefused

COMMENTED, MOVED = "commented", "moved"


def _comment(scope: ChangeSetScope, values: dict[str, object]) -> Shown:
    body = CommentBody.loaded(values)
    return run(lambda scope: actions.comment(set_of(scope), **vars(body)), scope.path, guard=SET_MEMBER)


@blueprint.post(f"{SET}/details")
@Page(guard=SET_MEMBER, inputs=("title", "description"), shown_by="change_set")
def change_details(*, scope: ChangeSetScope, form: Form) -> Response:
    """Change title and description."""
    values = {"title": form.text("title"), "description": form.optional("description")}
    body = EditChangeSetBody.loaded(values, is_change=True)
    run(lambda scope: actions.edit(set_of(scope), body.sent()), scope.path, guard=SET_MEMBER)
    return see_other(set_url(scope, "?done=saved"))


@blueprint.post(f"{SET}/submit")
@Page(guard=SET_MEMBER, inputs=(REVIEWERS, MESSAGE), shown_by="change_set", names={"message": MESSAGE})
def submit_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Ask for a review."""
    request = review_request(form)
    run_on(scope.change_set.id, lambda target: actions.submit(target, request))
    return see_other(set_url(scope, "?done=submitted"))


@blueprint.post(f"{SET}/review")
@Page(guard=SET_MEMBER, inputs=("verdict", "text", "head_sha"), shown_by="change_set", names={"body": "text"})
def review_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Approve the changes, ask for others, or comment on them. A comment can be resolved."""
    verdict, text = form.text("verdict"), form.text("text").strip()
    if verdict == Verdict.COMMENT:
        _comment(scope, {"body": text})
        return see_other(set_url(scope, f"?done={COMMENTED}#discussion"))
    body = ReviewBody.loaded({"verdict": verdict, "body": text, "head_sha": form.optional("head_sha")})
    run_on(scope.change_set.id, lambda target: actions.review(target, Review(**vars(body))))
    return see_other(set_url(scope, f"?done={verdict}"))


@blueprint.post(f"{SET}/comments")
@Page(guard=SET_MEMBER, inputs=("page", "part", "body"), shown_by="change_set", names={"path": "page"})
def comment_on_page(*, scope: ChangeSetScope, form: Form) -> Response:
    """Comment on a changed page, or on a field or a paragraph of it."""
    part = form.text("part")
    data: dict[str, object] = {"path": form.text("page"), "body": form.text("body").strip()}
    for name, prefix in (("pointer", POINTER), ("block", BLOCK)):
        if part.startswith(prefix):
            data[name] = part.removeprefix(prefix)
    return see_other(set_url(scope, f"?done={COMMENTED}#{_comment(scope, data)['id']}"))


@blueprint.post(f"{SET}/comments/<comment_id>")
@Page(guard=SET_MEMBER, inputs=("resolved",), shown_by="change_set")
def resolve_comment(*, scope: ChangeSetScope, form: Form) -> Response:
    """Mark a comment as resolved, or open it again."""
    values = {"comment_id": scope.path["comment_id"], "resolved": form.is_checked("resolved")}
    run(lambda scope: actions.resolve_comment(set_of(scope), **values), scope.path, guard=SET_MEMBER)
    return see_other(set_url(scope, f"?done=saved#{values['comment_id']}"))


@blueprint.post(f"{SET}/comments/<comment_id>/reply")
@Page(guard=SET_MEMBER, inputs=("reply",), shown_by="change_set")
def reply_to_comment(*, scope: ChangeSetScope, form: Form) -> Response:
    """Answer a comment. The guests of a link see the answers to their comments."""
    body, comment_id = CommentBody.loaded({"body": form.text("reply")}).body, scope.path["comment_id"]
    stored = run(lambda scope: actions.reply(set_of(scope), comment_id, body=body), scope.path, guard=SET_MEMBER)
    return see_other(set_url(scope, f"?done={COMMENTED}#{stored['id']}"))


@blueprint.post(f"{SET}/move")
@Page(guard=SET_MEMBER, inputs=(MOVED, CHOSEN, TITLE), shown_by="change_set", names={"to": CHOSEN})
def move_page(*, scope: ChangeSetScope, form: Form) -> Response:
    """Move a changed page to other changes, or to new ones."""
    path, title = form.text(MOVED), form.text(TITLE).strip() or scope.change_set.title
    with new_set(scope, title) if form.text(CHOSEN) == NEW else nullcontext() as created:
        to = form.text(CHOSEN) if created is None or created.change_set is None else created.change_set.id
        body = MoveBody.loaded({"paths": [path], "to": to})
        moved = run_on(scope.change_set.id, lambda target: moves.move(target, body.paths, body.to))
    return see_other(set_url(scope, f"?done={'moved' if moved['complete'] else 'moved-partly'}"))


@blueprint.post(f"{SET}/publish")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def publish_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Publish the changes. If the site has other changes of the same texts, a page asks which ones to use."""
    try:
        published = run_on(scope.change_set.id, actions.publish)
    except MergeRefused:
        return see_other(set_url(scope, "/conflicts"))
    return see_other(set_url(scope, "?done=published" if published["state"] == State.PUBLISHED else ""))


@blueprint.post(f"{SET}/unschedule")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def remove_schedule(*, scope: ChangeSetScope, form: Form) -> Response:
    """Remove the time of the publication."""
    run(lambda scope: actions.remove_schedule(set_of(scope)), scope.path, guard=SET_MEMBER)
    return see_other(set_url(scope, "?done=saved"))


@blueprint.post(f"{SET}/close")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def close_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Close the set. It cannot be opened again."""
    run_on(scope.change_set.id, actions.close)
    return see_other(set_url(scope, "?done=closed"))


INPUTS = ("date", "time", "timezone", "choice")
SUGGESTED_TIME = "09:00"


@dataclass(frozen=True)
class TimeChoice:
    """A time that the page offers instead of a skipped one: the values of the form, and its text."""

    values: dict[str, str]
    label: str


def _typed(shown: ShownSet) -> dict[str, str]:
    """Return the values of the form: those that failed, those of the present schedule, else tomorrow morning."""
    form, planned = current_form(), shown.shown["schedule"]
    if form.was_sent():
        return form.texts(*INPUTS)
    if planned is None:
        tomorrow = clock.now().astimezone(dates.user_zone()).date() + timedelta(days=1)
        zone = dates.user_zone_name()
        return {"date": tomorrow.isoformat(), "time": SUGGESTED_TIME, "timezone": zone, "choice": EARLIER}
    date, _sep, time = planned["wall_time"].partition("T")
    return {"date": date, "time": time, "timezone": planned["timezone"], "choice": planned["choice"] or EARLIER}


def _wall_time(form: Form) -> WallTime:
    """Return the sent time. Of a time that the clocks show twice it is the first, unless the form says otherwise."""
    text, zone = f"{form.text('date')}T{form.text('time')}", form.text("timezone")
    try:
        check_wall_time(text)
    except ValidationError as error:
        raise InvalidRequest.field("time", ErrorMessage("Enter a date and a time")) from error
    if not is_time_zone(zone):
        raise InvalidRequest.field("timezone", ErrorMessage("This time zone does not exist"))
    return WallTime(text, zone, LATER if form.text("choice") == LATER else EARLIER)


def _choices(error: AppError | None, typed: dict[str, str]) -> list[TimeChoice]:
    """Return the neighbours of a skipped time."""
    if error is None or error.code != "TIME_DOES_NOT_EXIST":
        return []
    moments = [str((error.result or {})[name]) for name in ("before", "after")]
    return [
        TimeChoice(
            typed | {"date": moment[:10], "time": moment[11:16]},
            dates.in_zone(moment, typed["timezone"], current_language()),
        )
        for moment in moments
    ]


@blueprint.get(f"{SET}/schedule")
@Page(guard=SET_MEMBER)
def schedule_form(*, scope: ChangeSetScope) -> Response:
    """Show the form with the time of the schedule, or with a suggested one."""
    shown, error = ShownSet(scope), current_form().error
    if error is None and not (shown.may("schedule") or shown.may("schedule_unpublish")):
        return see_other(set_url(scope))
    typed = _typed(shown)
    values: dict[str, Any] = {"typed": typed, "choices": _choices(error, typed), "zones": sorted(time_zones())}
    return page("changes/schedule.html", view=shown, one=shown.shown, **values)


@blueprint.post(f"{SET}/schedule")
@Page(guard=SET_MEMBER, inputs=INPUTS, shown_by="schedule_form", names={"wall_time": "time"})
def store_schedule(*, scope: ChangeSetScope, form: Form) -> Response:
    """Store the time at which the set is published or taken back."""
    is_published = scope.change_set.state == State.PUBLISHED
    action, wall = ScheduledAction.UNPUBLISH if is_published else ScheduledAction.PUBLISH, _wall_time(form)
    try:
        run_on(scope.change_set.id, lambda target: actions.set_schedule(target, wall, action))
    except MergeRefused:
        return see_other(set_url(scope, "/conflicts"))
    return see_other(set_url(scope, "?done=scheduled"))

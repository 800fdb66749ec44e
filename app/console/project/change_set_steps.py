"""Forms of the page of a set of changes: each takes one step. The page of a schedule shows the instant it means."""

from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from marshmallow import ValidationError, fields
from werkzeug.datastructures import MultiDict

from app.console.blueprint import blueprint
from app.console.files.destinations import run_on
from app.console.project.change_set_texts import BLOCK, POINTER
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.shell import dates
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict, ErrorMessage, FieldError, InvalidRequest
from app.core.locales import is_time_zone, time_zones
from app.http.actions import run
from app.http.validation import Length, RequestQuery
from app.models.change_set import ChangeSetState as State
from app.models.change_set import ScheduledAction, Verdict
from app.resources.change_set import actions, schedule
from app.resources.change_set.guards import ChangeSetScope, set_of
from app.resources.change_set.queries import Shown
from app.resources.change_set.reviews import Review
from app.resources.change_set.schedule import EARLIER, LATER, WallTime
from app.resources.change_set.schemas import CommentBody, EditChangeSetBody, ReviewBody, ScheduleBody, check_wall_time
from app.resources.change_set.service import MAX_TITLE
from app.resources.project_content.saving.refusals import MergeRefused

COMMENTED = "commented"


class LaterChanges(Conflict):
    """A revert that conflicts with later changes of the site (409)."""

    message = ErrorMessage("Later changes on the site touch the same texts. Take these changes back by hand")


def _edit(set_id: str, values: dict[str, object]) -> None:
    body = EditChangeSetBody.loaded(values, is_change=True)
    run(lambda scope: actions.edit(set_of(scope), body.sent()), {"change_set_id": set_id}, guard=SET_MEMBER)


def _comment(scope: ChangeSetScope, values: dict[str, object]) -> Shown:
    body = CommentBody.loaded(values)
    return run(lambda scope: actions.comment(set_of(scope), **vars(body)), scope.path, guard=SET_MEMBER)


@blueprint.post(f"{SET}/details")
@Page(guard=SET_MEMBER, inputs=("title", "description"), shown_by="change_set")
def change_details(*, scope: ChangeSetScope, form: Form) -> Response:
    """Change title and description."""
    _edit(scope.change_set.id, {"title": form.text("title"), "description": form.optional("description")})
    return see_other(set_url(scope, "?done=saved"))


@blueprint.post(f"{SET}/submit")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def submit_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Ask for a review."""
    run_on(scope.change_set.id, actions.submit)
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


@blueprint.post(f"{SET}/take-back")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def take_back(*, scope: ChangeSetScope, form: Form) -> Response:
    """Create a set that takes the published changes back.

    Raises:
        LaterChanges: other changes of the same texts followed.
    """
    try:
        created = str(run_on(scope.change_set.id, actions.revert)["id"])
    except MergeRefused as error:
        raise LaterChanges from error
    title = _("Take back “%(title)s”", title=scope.change_set.title)[:MAX_TITLE]
    _edit(created, {"title": title})
    return see_other(set_url(scope, "?done=created", created))


@blueprint.post(f"{SET}/close")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def close_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Close the set. It cannot be opened again."""
    run_on(scope.change_set.id, actions.close)
    return see_other(set_url(scope, "?done=closed"))


INPUTS = ("date", "time", "timezone", "choice")


def _text() -> fields.String:
    return fields.String(load_default="", validate=Length(max=64))


@dataclass(frozen=True, kw_only=True)
class ScheduleQuery(RequestQuery):
    """A time as it was typed. Without a date, the page shows an empty form."""

    date: Annotated[str, _text()]
    time: Annotated[str, _text()]
    timezone: Annotated[str, _text()]
    choice: Annotated[str, _text()]


@dataclass(frozen=True)
class TimeChoice:
    """A time that the page offers instead of the typed one: the values of the form, and its text."""

    values: dict[str, str]
    label: str


@dataclass(frozen=True)
class CheckedTime:
    """The instant of the typed time as text in its zone and in that of the reader, or the times that replace it."""

    in_zone: str = ""
    for_reader: str = ""
    choices: tuple[TimeChoice, ...] = ()
    message: str = ""
    error: InvalidRequest | None = None


def _typed(query: ScheduleQuery, shown: ShownSet) -> dict[str, str]:
    """Return the values of the form: those that failed, those of the URL, else those of the present schedule."""
    form = current_form()
    if form.was_sent():
        return form.texts(*INPUTS)
    if query.date:
        return {name: str(getattr(query, name)) for name in INPUTS}
    planned = shown.shown["schedule"] or {}
    date, _sep, time = str(planned.get("wall_time", "")).partition("T")
    zone = planned.get("timezone") or dates.user_zone_name()
    return {"date": date, "time": time, "timezone": zone, "choice": planned.get("choice") or ""}


def _check(typed: dict[str, str]) -> CheckedTime:
    """Return the meaning of a typed time."""
    text, zone = f"{typed['date']}T{typed['time']}", typed["timezone"]
    try:
        check_wall_time(text)
    except ValidationError:
        return CheckedTime(error=_refused("time", ErrorMessage("Enter a date and a time")))
    if not is_time_zone(zone):
        return CheckedTime(error=_refused("timezone", ErrorMessage("This time zone does not exist")))
    choice = typed["choice"] if typed["choice"] in (EARLIER, LATER) else None
    try:
        due = schedule.due_time(WallTime(text, zone, choice))
    except InvalidRequest as error:
        choices = _choices(error, typed)
        if choices:
            return CheckedTime(choices=choices, message=translate(error.message))
        fields = [FieldError("time", field.message) for field in error.fields]
        return CheckedTime(error=InvalidRequest(error.message, code=error.code, fields=fields))
    language, own = current_language(), dates.user_zone_name()
    for_reader = dates.in_zone(due, own, language) if own != zone else ""
    return CheckedTime(dates.in_zone(due, zone, language, has_offset=choice is not None), for_reader)


def _refused(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(fields=[FieldError(field, message)])


def _choices(error: InvalidRequest, typed: dict[str, str]) -> tuple[TimeChoice, ...]:
    """Return the times that an error names: the neighbours of a skipped time, or both instants of a repeated one."""
    result = error.result or {}
    if error.code == "TIME_IS_AMBIGUOUS":
        return tuple(_choice(str(result[name]), typed | {"choice": name}) for name in (EARLIER, LATER))
    if error.code == "TIME_DOES_NOT_EXIST":
        moments = [str(result[name]) for name in ("before", "after")]
        return tuple(
            _choice(moment, typed | {"date": moment[:10], "time": moment[11:16], "choice": ""}) for moment in moments
        )
    return ()


def _choice(moment: str, values: dict[str, str]) -> TimeChoice:
    return TimeChoice(values, dates.in_zone(moment, values["timezone"], current_language(), has_offset=True))


@blueprint.get(f"{SET}/schedule")
@Page(guard=SET_MEMBER, query=ScheduleQuery)
def schedule_form(*, scope: ChangeSetScope, query: ScheduleQuery) -> Response:
    """Show the form, and the instant of a typed time."""
    shown, form = ShownSet(scope), current_form()
    if form.error is None and not (shown.may("schedule") or shown.may("schedule_unpublish")):
        return see_other(set_url(scope))
    typed = _typed(query, shown)
    checked = _check(typed) if query.date or form.was_sent() else CheckedTime()
    error = checked.error or (form.error if not checked.choices else None)
    form = Form(MultiDict(typed), error=error, is_repeated=True)
    values: dict[str, Any] = {"checked": checked, "typed": typed, "zones": sorted(time_zones())}
    return page("changes/schedule.html", form=form, view=shown, one=shown.shown, **values)


@blueprint.post(f"{SET}/schedule")
@Page(guard=SET_MEMBER, inputs=INPUTS, shown_by="schedule_form")
def store_schedule(*, scope: ChangeSetScope, form: Form) -> Response:
    """Store the time at which the set is published or taken back."""
    is_published = scope.change_set.state == State.PUBLISHED
    data = {
        "wall_time": f"{form.text('date')}T{form.text('time')}",
        "timezone": form.text("timezone"),
        "choice": form.optional("choice"),
        "action": str(ScheduledAction.UNPUBLISH if is_published else ScheduledAction.PUBLISH),
    }
    try:
        body = ScheduleBody.loaded(data)
        run_on(scope.change_set.id, lambda target: actions.set_schedule(target, body.wall, body.action))
    except MergeRefused:
        return see_other(set_url(scope, "/conflicts"))
    return see_other(set_url(scope, "?done=scheduled"))

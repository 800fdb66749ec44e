"""The form of a schedule: a day, a minute and a time zone, and the instant that they mean before it is stored."""

from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from marshmallow import ValidationError, fields
from werkzeug.datastructures import MultiDict

from app.console.blueprint import blueprint
from app.console.files.destinations import run_on
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.shell import dates
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.core.errors import ErrorMessage, FieldError, InvalidRequest
from app.core.locales import is_time_zone, time_zones
from app.http.validation import Length, RequestQuery
from app.models.change_set import ChangeSetState as State
from app.models.change_set import ScheduledAction
from app.resources.change_set import actions, schedule
from app.resources.change_set.guards import ChangeSetScope
from app.resources.change_set.schedule import EARLIER, LATER, WallTime
from app.resources.change_set.schemas import ScheduleBody, check_wall_time
from app.resources.project_content.saving.refusals import MergeRefused

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

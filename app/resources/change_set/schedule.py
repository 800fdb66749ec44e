"""Schedules of change sets: wall times in a zone, their instants, and the rows of schedules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import sqlalchemy as sa
import structlog

from app.core import clock
from app.core.errors import ErrorMessage, FieldError, InvalidRequest
from app.core.ids import HasId
from app.extensions import db, jobs
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetSchedule, ScheduledAction

log = structlog.get_logger(__name__)

FORM = "%Y-%m-%dT%H:%M"
EARLIER, LATER = "earlier", "later"
MAX_AHEAD = timedelta(days=5 * 365 + 2)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class WallTime:
    """A wall time `YYYY-MM-DDTHH:MM` of a zone. `choice` selects one of two instants when the clocks go back."""

    text: str
    timezone: str
    choice: str | None = None

    @property
    def instant(self) -> datetime:
        """The instant of the wall time, in UTC.

        Raises:
            InvalidRequest: `TIME_DOES_NOT_EXIST` or `TIME_IS_AMBIGUOUS`. `result` contains two times.
        """
        zone = ZoneInfo(self.timezone)
        local = datetime.strptime(self.text, FORM)  # noqa: DTZ007 (the zone is attached below)
        first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first > second:  # The offset before the gap reads a later instant than the offset after it.
            raise _nonexistent(zone, second, first)
        if first < second and self.choice is None:
            raise _ambiguous(zone, first, second)
        return second if self.choice == LATER else first


def _nonexistent(zone: ZoneInfo, low: datetime, high: datetime) -> InvalidRequest:
    """Return the error with the last minute before a gap and the first one after it. The gap is between the times."""
    before, after, offset = 0, (high - low) // MINUTE, low.astimezone(zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if (low + middle * MINUTE).astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    neighbours = {"before": _iso(low + before * MINUTE, zone), "after": _iso(low + after * MINUTE, zone)}
    message = ErrorMessage("The clocks of this time zone skip this time")
    return _refused("TIME_DOES_NOT_EXIST", "wall_time", message, neighbours)


def _ambiguous(zone: ZoneInfo, first: datetime, second: datetime) -> InvalidRequest:
    message = ErrorMessage("The clocks of this time zone show this time twice. Choose one")
    instants = {EARLIER: _iso(first, zone), LATER: _iso(second, zone)}
    return _refused("TIME_IS_AMBIGUOUS", "choice", message, instants)


def _iso(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).isoformat(timespec="minutes")


def _refused(code: str, field: str, message: str, result: Mapping[str, object] | None = None) -> InvalidRequest:
    return InvalidRequest(message, code=code, fields=[FieldError(field, message)], result=result)


def due_time(wall: WallTime) -> datetime:
    """Return the instant of a wall time that can be scheduled.

    Raises:
        InvalidRequest: as `WallTime.instant`, and `TIME_IS_PAST` or `TIME_TOO_FAR`.
    """
    due, now = wall.instant, clock.now()
    if due <= now:
        raise _refused("TIME_IS_PAST", "wall_time", ErrorMessage("This time is not in the future"))
    if due > now + MAX_AHEAD:
        raise _refused("TIME_TOO_FAR", "wall_time", ErrorMessage("This time is more than five years away"))
    return due


def store(change_set: ChangeSet, wall: WallTime, action: ScheduledAction, due_at: datetime, *, user: HasId) -> None:
    """Store the schedule of a set in place of an earlier one, and enqueue a call at its time.

    The call only saves the wait for the sweep (`change_sets.publish_due`). Sets of one minute share it.
    """
    values = {"wall_time": wall.text, "timezone": wall.timezone, "choice": wall.choice}
    remove(change_set)
    row = ChangeSetSchedule(change_set_id=change_set.id, action=action, due_at=due_at, user_id=user.id, **values)
    db.session.add(row)
    db.session.flush()
    unique = f"change_sets.publish_due:{due_at:{FORM}}"
    jobs.enqueue("change_sets.publish_due", delay=max(due_at - clock.now(), timedelta(0)), unique=unique)


def find(change_set: ChangeSet) -> ChangeSetSchedule | None:
    """Return the schedule of a set, or None."""
    return db.session.get(ChangeSetSchedule, change_set.id, populate_existing=True)


def remove(change_set: ChangeSet) -> None:
    """Delete the schedule of a set, if it has one."""
    statement = sa.delete(ChangeSetSchedule).where(ChangeSetSchedule.change_set_id == change_set.id)
    db.session.execute(statement.execution_options(synchronize_session="fetch"))


def due(*, limit: int) -> Sequence[str]:
    """Return the ids of sets whose time has come, the earliest first."""
    statement = sa.select(ChangeSetSchedule.change_set_id).where(ChangeSetSchedule.due_at <= utcnow_ms())
    return db.session.scalars(statement.order_by(ChangeSetSchedule.due_at).limit(limit)).all()


def derive_again() -> int:
    """Derive the instants of all schedules from their wall times, with the present rules of time zones.

    Return the number of changed ones. A wall time that no longer exists keeps its instant, and that of a removed zone.
    """
    changed = 0
    ZoneInfo.clear_cache()  # The rules may be newer than this process.
    for row in db.session.scalars(sa.select(ChangeSetSchedule).with_for_update()):
        try:
            instant = WallTime(row.wall_time, row.timezone, row.choice or EARLIER).instant
        except (InvalidRequest, ZoneInfoNotFoundError, ValueError) as error:  # ValueError: a damaged file of a zone.
            log.warning("change_set.time_does_not_exist", change_set_id=row.change_set_id, error=type(error).__name__)
            continue
        if instant != row.due_at:
            row.due_at, changed = instant, changed + 1
    return changed

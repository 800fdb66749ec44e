"""Tests of wall times at changes of the clocks, compared with all minutes around them, and of changed time zone rules."""

import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import clock
from app.core.errors import InvalidRequest
from app.resources.change_set import schedule
from app.resources.change_set.schedule import FORM, WallTime
from tests.resources.change_set.conftest import Team, run_job

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
AROUND = timedelta(hours=4)

ZONES = {
    "Europe/Berlin": (2027, 60),
    "America/New_York": (2027, 60),
    "Australia/Lord_Howe": (2027, 30),
    "Pacific/Chatham": (2027, 60),
    "Antarctica/Troll": (2027, 120),
    "Africa/Casablanca": (2027, 60),
}
"""A year of each zone with two changes, and the minutes by which the clocks change."""


@cache
def changes(name: str, year: int) -> list[datetime]:
    """Return the minutes of a year at which the offset of a zone changes, in UTC."""
    zone, start = ZoneInfo(name), datetime(year, 1, 1, tzinfo=UTC)
    hours = [start + number * HOUR for number in range(366 * 24)]
    found = [hour for hour in hours if hour.astimezone(zone).utcoffset() != (hour + HOUR).astimezone(zone).utcoffset()]
    return [
        next(
            hour + (number + 1) * MINUTE
            for number in range(60)
            if (hour + number * MINUTE).astimezone(zone).utcoffset()
            != (hour + (number + 1) * MINUTE).astimezone(zone).utcoffset()
        )
        for hour in found
    ]


def shown_by_clocks(name: str, low: datetime, high: datetime) -> dict[str, list[datetime]]:
    """Return the instants of each wall time that the clocks of a zone show between two instants."""
    shown: dict[str, list[datetime]] = {}
    zone, moment = ZoneInfo(name), low
    while moment <= high:
        shown.setdefault(moment.astimezone(zone).strftime(FORM), []).append(moment)
        moment += MINUTE
    return shown


def wall_times(name: str, low: datetime, high: datetime) -> Iterator[str]:
    """Return all wall times from that of an instant to that of a later one, also those that the clocks skip."""
    zone = ZoneInfo(name)
    local, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (low, high))
    while local <= end:
        yield local.strftime(FORM)
        local += MINUTE


def outcome(wall: WallTime) -> datetime | tuple[str, Mapping[str, Any]]:
    """Return the instant, or the code of the refusal and the two times."""
    try:
        return wall.instant
    except InvalidRequest as error:
        times = dict(error.result or {})
        return error.code, {key: datetime.fromisoformat(str(value)) for key, value in times.items()}


def check_minute(name: str, text: str, shown: Mapping[str, list[datetime]]) -> str:
    """Compare the outcome of a wall time with the instants at which the clocks show it. Return its kind."""
    instants = shown.get(text, [])
    if len(instants) == 1:
        for choice in (None, "earlier", "later"):
            assert outcome(WallTime(text, name, choice)) == instants[0]
        return "once"
    if instants:
        earlier, later = instants
        assert outcome(WallTime(text, name)) == ("TIME_IS_AMBIGUOUS", {"earlier": earlier, "later": later})
        assert (outcome(WallTime(text, name, "earlier")), outcome(WallTime(text, name, "later"))) == (earlier, later)
        return "twice"
    before = max(value for key, values in shown.items() if key < text for value in values)
    expected = "TIME_DOES_NOT_EXIST", {"before": before, "after": before + MINUTE}
    assert [outcome(WallTime(text, name, choice)) for choice in (None, "earlier", "later")] == [expected] * 3
    return "never"


class TestMinutesAroundChanges:
    @pytest.mark.parametrize("name", ZONES)
    def test_each_minute_around_both_changes_has_the_instants_of_the_clocks(self, name: str) -> None:
        year, minutes = ZONES[name]
        kinds = []
        for change in changes(name, year):
            low, high = change - AROUND, change + AROUND
            shown = shown_by_clocks(name, low, high)
            kinds += [check_minute(name, text, shown) for text in wall_times(name, low, high)]
        assert (kinds.count("never"), kinds.count("twice")) == (minutes, minutes)

    def test_skipped_day_has_the_minutes_before_and_after_it(self) -> None:
        shown = shown_by_clocks("Pacific/Apia", *(datetime(2011, 12, day, 10, tzinfo=UTC) for day in (29, 31)))
        skipped = [text for text in map("2011-12-30T{:02}:30".format, range(24)) if text not in shown]
        assert len(skipped) == 24
        for text in skipped:
            code, times = outcome(WallTime(text, "Pacific/Apia"))
            assert code == "TIME_DOES_NOT_EXIST"
            assert {key: value.isoformat() for key, value in times.items()} == {
                "before": "2011-12-29T23:59:00-10:00",
                "after": "2011-12-31T00:00:00+14:00",
            }

    @pytest.mark.parametrize(
        ("name", "text", "times"),
        [
            ("Europe/Berlin", "2027-03-28T02:30", ("2027-03-28T01:59+01:00", "2027-03-28T03:00+02:00")),
            ("Europe/Berlin", "2027-10-31T02:30", ("2027-10-31T02:30+02:00", "2027-10-31T02:30+01:00")),
            ("America/New_York", "2027-03-14T02:00", ("2027-03-14T01:59-05:00", "2027-03-14T03:00-04:00")),
            ("America/New_York", "2027-11-07T01:59", ("2027-11-07T01:59-04:00", "2027-11-07T01:59-05:00")),
            ("Australia/Lord_Howe", "2027-10-03T02:15", ("2027-10-03T01:59+10:30", "2027-10-03T02:30+11:00")),
            ("Australia/Lord_Howe", "2027-04-04T01:45", ("2027-04-04T01:45+11:00", "2027-04-04T01:45+10:30")),
            ("Pacific/Chatham", "2027-09-26T02:45", ("2027-09-26T02:44+12:45", "2027-09-26T03:45+13:45")),
            ("Pacific/Chatham", "2027-04-04T03:00", ("2027-04-04T03:00+13:45", "2027-04-04T03:00+12:45")),
        ],
    )
    def test_both_times_are_iso_texts_with_offsets(self, name: str, text: str, times: tuple[str, str]) -> None:
        with pytest.raises(InvalidRequest) as refused:
            _ = WallTime(text, name).instant
        assert refused.value.result is not None
        assert tuple(refused.value.result.values()) == times

    @given(st.sampled_from(sorted(available_timezones() - {"localtime"})), st.integers(2020, 2035), st.data())
    def test_wall_times_of_any_zone_agree_with_its_clocks(self, name: str, year: int, data: st.DataObject) -> None:
        moments = changes(name, year) or [datetime(year, 6, 1, tzinfo=UTC)]
        low = data.draw(st.sampled_from(moments)) - AROUND
        shown = shown_by_clocks(name, low, low + 2 * AROUND)
        text = data.draw(st.sampled_from(list(wall_times(name, low + HOUR, low + 2 * AROUND - HOUR))))
        check_minute(name, text, shown)


def next_change(name: str, *, forward: bool) -> datetime:
    """Return the next time at which the clocks of a zone go forward or back, at least two days ahead."""
    zone, now = ZoneInfo(name), clock.now() + timedelta(days=2)
    for change in [*changes(name, now.year), *changes(name, now.year + 1)]:
        before, after = ((change - delta).astimezone(zone).utcoffset() for delta in (MINUTE, timedelta(0)))
        if change > now and (after > before) == forward:  # type: ignore[operator]
            return change
    raise AssertionError(name)


class TestRoute:
    @pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Chatham"])
    def test_times_that_are_skipped_or_shown_twice_are_refused(self, team: Team, name: str) -> None:
        team.configure(required_approvals=0)
        made, zone = team.edited(), ZoneInfo(name)
        skip = next_change(name, forward=True)
        body = {"wall_time": _skipped(skip, zone), "timezone": name}
        error = team.put_schedule(made, body).fails(400, "TIME_DOES_NOT_EXIST", "wall_time")
        assert error["result"] == {
            "before": (skip - MINUTE).astimezone(zone).isoformat(timespec="minutes"),
            "after": skip.astimezone(zone).isoformat(timespec="minutes"),
        }
        later = next_change(name, forward=False) + 5 * MINUTE
        body = {"wall_time": later.astimezone(zone).strftime(FORM), "timezone": name}
        error = team.put_schedule(made, body).fails(400, "TIME_IS_AMBIGUOUS", "choice")
        instants = {key: datetime.fromisoformat(value) for key, value in error["result"].items()}
        assert instants["later"] == later
        for choice, instant in instants.items():
            planned = team.put_schedule(made, body | {"choice": choice}).ok()["schedule"]
            assert planned["due_at"] == clock.iso(instant)

    @pytest.mark.parametrize(
        ("body", "code", "path"),
        [
            ({"timezone": "Europe/Atlantis"}, "VALIDATION_FAILED", "timezone"),
            ({"timezone": "../../etc/passwd"}, "VALIDATION_FAILED", "timezone"),
            ({"timezone": "europe/berlin"}, "VALIDATION_FAILED", "timezone"),
            ({"timezone": ""}, "VALIDATION_FAILED", "timezone"),
            ({"timezone": None}, "VALIDATION_FAILED", "timezone"),
            ({"choice": "both"}, "VALIDATION_FAILED", "choice"),
            ({"action": "delete"}, "VALIDATION_FAILED", "action"),
            *(
                ({"wall_time": text}, "VALIDATION_FAILED", "wall_time")
                for text in (
                    "",
                    None,
                    5,
                    "2030-01-01",
                    "2030-01-01T10:00:00",
                    "2030-01-01T10:00Z",
                    "2030-01-01 10:00",
                    "2030-1-1T1:00",
                    "2030-02-30T10:00",
                    "2030-01-01T24:00",
                    "0001-01-01T00:00",
                    "9999-12-31T23:59",
                    "２０３０-01-01T10:00",
                )
            ),
            ({"wall_time": "2020-01-01T10:00"}, "TIME_IS_PAST", "wall_time"),
            ({"wall_time": "1900-01-01T10:00"}, "TIME_IS_PAST", "wall_time"),
            ({"wall_time": "9998-12-31T23:59"}, "TIME_TOO_FAR", "wall_time"),
        ],
    )
    def test_invalid_times_name_the_field(self, team: Team, body: dict[str, Any], code: str, path: str) -> None:
        team.configure(required_approvals=0)
        made = team.edited()
        wall = (clock.now() + timedelta(days=3)).strftime(FORM)
        team.put_schedule(made, {"wall_time": wall, "timezone": "Europe/Berlin"} | body).fails(400, code, path)
        assert team.read(made)["schedule"] is None

    def test_times_have_limits_in_both_directions(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made, now = team.edited(), clock.now()
        for due, code in (
            (now, "TIME_IS_PAST"),
            (now - MINUTE, "TIME_IS_PAST"),
            (now + schedule.MAX_AHEAD + 2 * MINUTE, "TIME_TOO_FAR"),
        ):
            team.put_schedule(made, {"wall_time": due.strftime(FORM), "timezone": "UTC"}).fails(400, code, "wall_time")
        for due in (now + 2 * MINUTE, now + schedule.MAX_AHEAD - MINUTE):
            planned = team.put_schedule(made, {"wall_time": due.strftime(FORM), "timezone": "UTC"}).ok()["schedule"]
            assert planned["due_at"] == clock.iso(due.replace(second=0, microsecond=0))


def _skipped(change: datetime, zone: ZoneInfo) -> str:
    """Return the wall time five minutes after the last one before the clocks go forward."""
    return ((change - MINUTE).astimezone(zone).replace(tzinfo=None) + 6 * MINUTE).strftime(FORM)


@pytest.fixture
def zone_files(tmp_path: Path) -> Iterator[Path]:
    """A folder from which zones are read, with the zones UTC and Europe/Berlin."""
    installed, folder = Path(zoneinfo.TZPATH[0]), tmp_path / "zoneinfo"
    (folder / "Europe").mkdir(parents=True)
    for name in ("UTC", "Europe/Berlin"):
        (folder / name).write_bytes((installed / name).read_bytes())
    (folder / "installed").symlink_to(installed)
    zoneinfo.reset_tzpath([str(folder)])
    yield folder
    zoneinfo.reset_tzpath()
    ZoneInfo.clear_cache()


class TestChangedRules:
    def test_new_rules_of_a_zone_move_the_instant_of_a_schedule(self, team: Team, zone_files: Path) -> None:
        team.configure(required_approvals=0)
        sets = [team.edited(title) for title in ("Moved", "Stays", "Gap")]
        day = (clock.now() + timedelta(days=400)).replace(month=7, hour=12, minute=0, second=0, microsecond=0)
        gap = _skipped(changes("Asia/Beirut", day.year)[0], ZoneInfo("Asia/Beirut"))
        for made, body in zip(
            sets,
            (
                {"wall_time": day.strftime(FORM), "timezone": "Europe/Berlin"},
                {"wall_time": day.strftime(FORM), "timezone": "UTC"},
                {"wall_time": gap, "timezone": "Europe/Berlin"},
            ),
            strict=True,
        ):
            team.put_schedule(made, body).ok()
        before = [team.read(made)["schedule"]["due_at"] for made in sets]
        assert before[0] == clock.iso(day - 2 * HOUR)
        run_job(team, "change_sets.derive_schedules")
        assert [team.read(made)["schedule"]["due_at"] for made in sets] == before
        # Beirut is an hour ahead of Berlin, and skips another hour.
        (zone_files / "Europe/Berlin").write_bytes((zone_files / "installed/Asia/Beirut").read_bytes())
        run_job(team, "change_sets.derive_schedules")
        after = [team.read(made)["schedule"]["due_at"] for made in sets]
        assert after == [clock.iso(day - 3 * HOUR), before[1], before[2]]
        assert [team.read(made)["state"] for made in sets] == ["scheduled"] * 3

    def test_removed_zone_keeps_the_instant(self, team: Team, zone_files: Path) -> None:
        team.configure(required_approvals=0)
        made, other = team.edited(), team.edited("Other")
        wall = (clock.now() + timedelta(days=3)).strftime(FORM)
        due = [
            team.put_schedule(one, {"wall_time": wall, "timezone": name}).ok()["schedule"]["due_at"]
            for one, name in ((made, "Europe/Berlin"), (other, "UTC"))
        ]
        (zone_files / "Europe/Berlin").write_bytes(b"broken")
        run_job(team, "change_sets.derive_schedules")
        (zone_files / "Europe/Berlin").unlink()
        run_job(team, "change_sets.derive_schedules")
        assert [team.read(one)["schedule"]["due_at"] for one in (made, other)] == due

"""Times until an unsaved edit of a preview is visible: in the response of the server, and in an open page."""

import contextlib
import os
import time
from pathlib import Path

from playwright.sync_api import Error, Page

from app.drivers.sandbox.local.supervisor.usage import processes_below
from tests.serving.member import Member

EDIT_TIMEOUT_S, LIVE_TIMEOUT_S = 30, 5


def seconds_until_visible(
    owner: Member, page: Page, mark: str, started: float, *, live_timeout_s: float = LIVE_TIMEOUT_S
) -> tuple[float | None, float | None]:
    """Return the seconds until the server responds with the text, and until the open page shows it by itself.

    An open page has `live_timeout_s` after the response of the server.
    """
    served, live, until = None, None, started + EDIT_TIMEOUT_S
    while time.monotonic() < until and live is None:
        with contextlib.suppress(Error):  # The page navigates.
            live = time.monotonic() - started if page.get_by_text(mark).count() else None
        if served is None and mark in owner.get(page.url, {"Accept": "text/html"}).text:
            served, until = time.monotonic() - started, time.monotonic() + live_timeout_s
        time.sleep(0.05)
    return served, live


def format_times(times: tuple[float | None, float | None]) -> str:
    """Return the two times as text, with a dash for a text that did not become visible."""
    return "/".join("-" if each is None else f"{each:.1f}" for each in times)


def processor_s(pid: int) -> float:
    """Return the processor time of a process and its descendants, also of those that have ended."""
    ticks = 0
    for each in processes_below(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")

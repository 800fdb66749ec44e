"""Retention of the project log."""

from datetime import timedelta

from app.core import clock
from app.core.ids import first_id
from app.core.jobs import job
from app.extensions import current_settings
from app.models.project_log import ProjectLogEntry
from app.resources.system.retention import purge

PURGE_INTERVAL = timedelta(hours=24)


@job("project_log.purge", every=PURGE_INTERVAL, retries=0, priority=-5)
def purge_old_entries() -> None:
    """Delete entries that are older than `PROJECT_LOG_DAYS`. Ids sort by time, so the primary key selects them."""
    days = current_settings().retention.project_log_days
    if days:
        purge(ProjectLogEntry, ProjectLogEntry.id < first_id("log", clock.now() - timedelta(days=days)))

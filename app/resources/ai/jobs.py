"""Jobs of the AI handlers."""

from datetime import timedelta

from app.core.jobs import job
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import utcnow_ms
from app.resources.system.retention import purge

RETENTION = timedelta(days=90)
"""Three times the period that a user sees, so that an operator can still answer questions about it."""


@job("ai.purge", every=timedelta(days=1), retries=2)
def purge_usage() -> int:
    """Delete calls and budgets after `RETENTION`. Returns their number."""
    before = utcnow_ms() - RETENTION
    return purge(AiUsage, AiUsage.created_at < before) + purge(AiBudget, AiBudget.day < before.date())

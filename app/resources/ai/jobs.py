"""What is done about calls to models when nobody asks: old ones are forgotten."""

from datetime import timedelta

from app.core.jobs import job
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import moment
from app.resources.system.purging import purge

KEPT = timedelta(days=90)
"""Three times what a user is shown, so that an operator can still answer for the month before the last."""


@job("ai.purge", every=timedelta(days=1), retries=2)
def purge_usage() -> int:
    """Delete calls and budgets that are older than anybody is shown or counted by; returns how many."""
    before = moment() - KEPT
    return purge(AiUsage, AiUsage.created_at < before) + purge(AiBudget, AiBudget.day < before.date())

"""Token usage of a user."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.core import clock
from app.core.ids import HasId
from app.core.limits import AiLimits
from app.extensions import db
from app.models.ai_usage import AiBudget, AiUsage
from app.models.base import utcnow_ms
from app.resources.ai.usage_ledger import next_day

SHOWN = timedelta(days=30)


def usage_of_user(user: HasId, limits: AiLimits) -> dict[str, Any]:
    """Return the daily budget and the tokens of the last 30 days by handler."""
    now = clock.now()
    handlers = _by_handler(user)
    used = db.session.scalar(sa.select(AiBudget.tokens).where(AiBudget.user_id == user.id, AiBudget.day == now.date()))
    return {
        "budget": {
            "tokens_a_day": limits.operator_tokens_a_day,
            "used": used or 0,
            "resets_at": clock.iso(next_day(now)),
        },
        "running": _running(user),
        "days": SHOWN.days,
        "calls": sum(row["calls"] for row in handlers),
        "input_tokens": sum(row["input_tokens"] for row in handlers),
        "output_tokens": sum(row["output_tokens"] for row in handlers),
        "by_handler": handlers,
    }


def _by_handler(user: HasId) -> list[dict[str, object]]:
    rows = db.session.execute(
        sa.select(
            AiUsage.handler,
            AiUsage.own_key,
            sa.func.count().label("calls"),
            sa.func.sum(AiUsage.input_tokens).label("input"),
            sa.func.sum(AiUsage.output_tokens).label("output"),
        )
        .where(AiUsage.user_id == user.id, AiUsage.created_at > utcnow_ms() - SHOWN)
        .group_by(AiUsage.handler, AiUsage.own_key)
        .order_by(AiUsage.handler, AiUsage.own_key)
    )
    return [
        {
            "handler": r.handler,
            "own_key": r.own_key,
            "calls": r.calls,
            "input_tokens": int(r.input),
            "output_tokens": int(r.output),
        }
        for r in rows
    ]


def _running(user: HasId) -> int:
    now = utcnow_ms()
    count = sa.select(sa.func.count()).where(
        AiUsage.user_id == user.id,
        AiUsage.ended_at.is_(None),
        AiUsage.expires_at > now,
        AiUsage.created_at > now - SHOWN,
    )
    return db.session.scalar(count) or 0

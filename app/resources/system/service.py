"""What the process can tell of itself and of what it depends on."""

from typing import Any

import sqlalchemy as sa
import structlog

from app.extensions import db

log = structlog.get_logger(__name__)


def welcome(base_url: str) -> str:
    """The text at `/`."""
    return (
        "Galley: every save is a commit.\n\n"
        f"API:       {base_url}/api/v1\n"
        f"Reference: {base_url}/api/v1/docs\n"
        f"OpenAPI:   {base_url}/api/v1/openapi.json\n"
        f"Health:    {base_url}/healthz\n"
    )


def readiness(_jobs: object) -> tuple[dict[str, Any], int]:
    """State by dependency, and the status to answer with."""
    database = _database_answers()
    content = {"status": "ok" if database else "unavailable", "checks": {"database": "ok" if database else "down"}}
    return content, 200 if database else 503


def _database_answers() -> bool:
    try:
        db.session.execute(sa.text("SELECT 1"))
    except sa.exc.SQLAlchemyError as error:
        log.warning("readiness.database_down", error=type(error).__name__)
        return False
    return True

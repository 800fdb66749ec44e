"""The check that no outbound call runs while the session holds a connection."""

import structlog
from flask import has_app_context

from app.core import outbound
from app.database.session import SessionState, session_state

log = structlog.get_logger(__name__)


def install() -> None:
    """Check the session state before each outbound call of this process."""
    outbound.set_check(check_session)


def check_session(client: str) -> None:
    """Log a call during which the session holds a connection. A thread without an application context has no session."""
    if has_app_context() and session_state() is not SessionState.IDLE:
        log.warning("session.held_during_call", client=client, state=str(session_state()))

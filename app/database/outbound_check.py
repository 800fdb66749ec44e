"""The check that no outbound call runs while the session holds a connection."""

import structlog
from flask import current_app, has_app_context

from app.core import outbound
from app.database.transactions import SessionState, session_state

log = structlog.get_logger(__name__)


def install() -> None:
    """Check the session state before each outbound call of this process."""
    outbound.set_check(check_session)


def check_session(client: str) -> None:
    """Check that the session holds no connection. A thread without an application context has no session.

    Raises:
        RuntimeError: the session holds a connection. In production the call is logged instead.
    """
    if not has_app_context() or session_state() is SessionState.IDLE:
        return
    if current_app.config["SETTINGS"].env != "production":
        raise RuntimeError(f"the database session is {session_state()} during a call of the client {client!r}")
    log.warning("session.held_during_call", client=client, state=str(session_state()))

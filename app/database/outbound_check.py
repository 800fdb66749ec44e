"""The check that no outbound call runs while `db.session` holds a connection."""

import structlog
from flask import current_app, has_app_context

from app.core import outbound
from app.database.transactions import TransactionState, transaction_state

log = structlog.get_logger(__name__)


def install() -> None:
    """Check the state before each outbound call of this process."""
    outbound.set_check(check_state)


def check_state(client: str) -> None:
    """Check that `db.session` holds no connection. A thread without an application context has none.

    Raises:
        RuntimeError: it holds a connection. In production the call is logged instead.
    """
    if not has_app_context() or transaction_state() is TransactionState.IDLE:
        return
    if current_app.config["SETTINGS"].env != "production":
        raise RuntimeError(f"the transaction state is {transaction_state()} during a call of the client {client!r}")
    log.warning("database.held_during_call", client=client, state=str(transaction_state()))

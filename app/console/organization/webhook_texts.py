"""Texts for the results of webhook deliveries."""

from collections.abc import Mapping
from typing import Any

from app.console.shell.translation import gettext as _
from app.drivers.http.pinned import CallFailure
from app.resources.outbound_webhook.delivery import UNREADABLE


def failure_text(attempt: Mapping[str, Any]) -> str:
    """Return the reason why an attempt has failed, or an empty text for an accepted one."""
    status = attempt["status"]
    if status is not None:
        return "" if 200 <= status < 300 else _("The receiver answered with the status %(status)s", status=status)
    texts: dict[str, str] = {
        CallFailure.NOT_RESOLVED: _("There is no host of this name"),
        CallFailure.REFUSED: _("The host has no public address"),
        CallFailure.NOT_CONNECTED: _("The host accepts no connection"),
        CallFailure.INSECURE: _("The certificate of the host is not valid"),
        CallFailure.LATE: _("The host did not answer within 20 seconds"),
        CallFailure.DROPPED: _("The host closed the connection"),
        CallFailure.INVALID: _("The answer of the host is not valid"),
        UNREADABLE: _("The stored URL cannot be read anymore. Enter it again"),
    }
    return texts.get(attempt["error"]) or str(attempt["error"])

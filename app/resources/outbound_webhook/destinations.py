"""The check of a URL before it is stored. Each delivery checks its addresses again."""

from app.core.errors import ErrorMessage, InvalidRequest
from app.core.urls import HttpUrl, parse_http_url
from app.drivers.http.pinned import CallFailure, PinnedCallFailed, PinnedClient
from app.resources.outbound_webhook.service import Destination

NOT_SECURE = ErrorMessage("Must start with https://")
NOT_PUBLIC = ErrorMessage(
    "Must lead to public addresses. The operator can permit networks with WEBHOOK_ALLOWED_NETWORKS"
)
LOCAL_NAMES = ("localhost", ".localhost")


def check(url: str, client: PinnedClient) -> Destination:
    """Return the destination of a URL. A name that does not resolve yet is accepted.

    Raises:
        InvalidRequest: the URL is not valid, or leads to an address that is not permitted.
    """
    parts = parse_http_url(url)
    if parts is None:
        raise InvalidRequest.field("url", NOT_SECURE)
    try:
        client.addresses_of(parts)
    except PinnedCallFailed as failure:
        is_unknown_name = failure.reason == CallFailure.NOT_RESOLVED and not _is_local(parts)
        if not parts.is_secure:
            raise InvalidRequest.field("url", NOT_SECURE) from failure
        if not is_unknown_name:
            raise InvalidRequest.field("url", NOT_PUBLIC) from failure
    return Destination(url, parts)


def _is_local(parts: HttpUrl) -> bool:
    return parts.host == LOCAL_NAMES[0] or parts.host.endswith(LOCAL_NAMES[1])

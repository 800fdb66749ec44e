"""Object ids and checks of values before they are sent to a host."""

import hashlib

from app.core.refs import is_sha
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import GitObjectMissing


def blob_sha(content: bytes) -> str:
    """Return the sha of a blob."""
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def require_shas(*names: str) -> None:
    """Refuse a text that is not a full sha. Raises GitObjectMissing."""
    if not all(map(is_sha, names)):
        raise GitObjectMissing("The value is not a full object id")


def check_message(message: str) -> None:
    """Refuse a commit message that Git cannot store. Raises UpstreamRejected."""
    if "\0" in message or not message.strip():
        raise UpstreamRejected("The commit message must contain text and must not contain NUL", code="INVALID_MESSAGE")
    try:
        message.encode()
    except UnicodeEncodeError as fault:
        raise UpstreamRejected("The commit message is not valid Unicode", code="INVALID_MESSAGE") from fault

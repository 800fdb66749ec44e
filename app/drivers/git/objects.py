"""What Git asks of objects, computed here: so that a host's word can be checked, and nothing unfit is sent."""

import hashlib

from app.core.refs import is_sha
from app.drivers.errors import Rejected
from app.drivers.git.port import ObjectNotFound


def blob_sha(content: bytes) -> str:
    """The name Git gives a blob."""
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def require_shas(*names: str) -> None:
    """Refuse what is not the full name of an object. Raises ObjectNotFound."""
    if not all(map(is_sha, names)):
        raise ObjectNotFound("That is not the full name of an object")


def check_message(message: str) -> None:
    """Refuse a commit message that Git cannot keep. Raises Rejected."""
    if "\0" in message or not message.strip():
        raise Rejected("The commit message must have text and must not hold NUL", code="INVALID_MESSAGE")
    try:
        message.encode()
    except UnicodeEncodeError as fault:
        raise Rejected("The commit message is not valid Unicode", code="INVALID_MESSAGE") from fault

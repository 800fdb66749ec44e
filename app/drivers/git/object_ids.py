"""Objects with their ids, and checks of values before they are sent to a host."""

import hashlib
from typing import NamedTuple

from app.core.refs import is_sha
from app.drivers.errors import UpstreamRejected
from app.drivers.git.errors import GitObjectMissing


def object_header(kind: str, content: bytes) -> bytes:
    """Return the bytes that precede the content of an object of a type."""
    return b"%s %d\0" % (kind.encode(), len(content))


class GitObject(NamedTuple):
    """An object with its type (`blob`, `tree` or `commit`) and its content."""

    sha: str
    type: str
    content: bytes


def new_object(kind: str, content: bytes) -> GitObject:
    """Return the object of a content."""
    digest = hashlib.sha1(object_header(kind, content), usedforsecurity=False)
    digest.update(content)
    return GitObject(digest.hexdigest(), kind, content)


def blob_sha(content: bytes) -> str:
    """Return the sha of a blob."""
    return new_object("blob", content).sha


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

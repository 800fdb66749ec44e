"""Responses to Git clients that do not come from Git. A client shows their text after `remote:`."""

import json
from collections.abc import Mapping

from flask import Response

COMMON = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of all responses, also of those of Git."""


class GitRefusal(Exception):
    """A refused request with its status, its sentence and its additional headers."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, dict(headers or {})

    def response(self) -> Response:
        """Return the response."""
        response = Response(f"{self.text}\n", self.status, content_type="text/plain; charset=utf-8")
        response.headers.update(COMMON | self.headers)
        return response


def not_authenticated(text: str = "Sign in with an API token as the password. Any user name is accepted") -> GitRefusal:
    """Return the refusal after which a Git client asks for a user name and a password."""
    return GitRefusal(401, text, {"WWW-Authenticate": 'Basic realm="Galley", charset="UTF-8"'})


def no_lfs() -> GitRefusal:
    """Return the refusal of a request of Git LFS. Its client shows only messages in this form."""
    text = "The server does not store Git LFS objects. Set lfs.url in .lfsconfig to a server that stores them"
    return GitRefusal(501, json.dumps({"message": text}), {"Content-Type": "application/vnd.git-lfs+json"})


def missing(text: str = "The repository does not exist") -> GitRefusal:
    """Return the refusal for an unknown repository or URL."""
    return GitRefusal(404, text)


def busy(text: str = "The server is busy. Try again shortly", *, retry_after_s: int = 5) -> GitRefusal:
    """Return the refusal of a request that may succeed later."""
    return GitRefusal(503, text, {"Retry-After": str(retry_after_s)})

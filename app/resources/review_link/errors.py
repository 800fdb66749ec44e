"""Refusals of guests."""

from app.core.errors import AppError


class LinkEnded(AppError):
    """A request of a guest whose link was revoked or has expired (410)."""

    status, code, message = 410, "LINK_ENDED", "This link has ended. Ask the person who sent it for a new one"

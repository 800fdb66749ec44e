"""Failures of API tokens."""

from app.core.errors import Conflict, LimitReached


class TooManyTokens(LimitReached):
    """A token beyond the limit of the user or organization (403)."""

    message = "The limit of API tokens has been reached. Delete one first"


class MembershipEnded(Conflict):
    """A change of a service account by a user who is not a member of its organization (409)."""

    code, message = "MEMBERSHIP_ENDED", "The owner of a service account must be a member of its organization"

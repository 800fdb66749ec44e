"""Attribution of commits to users (contract 4.13)."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.api_tokens import TokenGrant
from app.drivers.git.commit_message import co_author
from app.drivers.git.port import Person
from app.extensions import current_settings, db
from app.models.user import User
from app.models.user_preference import UserPreference

_INVALID = re.compile(r"[<>\r\n\0]+")


@dataclass(frozen=True)
class Attribution:
    """The author of a commit and its trailers. The author is the bot if `author` is None."""

    author: Person | None = None
    trailers: tuple[tuple[str, str], ...] = ()


def attribution_of(user: User, grant: TokenGrant | None = None) -> Attribution:
    """Return how a commit names the user (contract, 4.13), or the service account of the request.

    If the user has set the preference `impersonate`, the commit names only the bot. Otherwise the setting `GIT_COMMIT_AUTHOR` decides whether
    the person is the author or a co-author.
    """
    if grant is not None and grant.is_service_account:
        return _named(Person(_INVALID.sub(" ", grant.name).strip() or grant.id, f"{grant.id}@{_host()}"))
    preference = db.session.get(UserPreference, user.id)
    if preference is not None and preference.impersonate:
        return Attribution()
    name = _INVALID.sub(" ", user.name).strip() or user.email.partition("@")[0]
    return _named(Person(_INVALID.sub("", name), _INVALID.sub("", user.email)))


def _host() -> str:
    """Return the domain of the e-mail addresses of service accounts. They receive no mail."""
    return f"noreply.{urlsplit(current_settings().server.base_url).hostname or 'invalid'}"


def _named(person: Person) -> Attribution:
    if current_settings().git.commit_author == "person":
        return Attribution(author=person)
    return Attribution(trailers=(co_author(person),))

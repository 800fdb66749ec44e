"""The quick way to "you have it already": one statement that only ever says yes.

Whoever it does not fit, for whatever reason, goes the usual way through the guard, which tells the reason.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa
from flask import Request, current_app

from app.core import clock
from app.core.secrets import hash_token
from app.http import caching, login, rate_limits
from app.http.caller import LIVING
from app.models.login import Session
from app.models.organization import Membership
from app.models.project import Project, Provider
from app.models.project_content import ContentIndex, IndexStatus
from app.models.user import User


class Known(NamedTuple):
    """A ready index of the branch that a project is edited on."""

    commit_sha: str
    branch: str
    provider: Provider
    repository: str


# Built once: putting a statement together costs more than running it.
_READY = (
    sa.select(
        User.id,
        Session.last_seen_at,
        ContentIndex.commit_sha,
        ContentIndex.branch,
        Project.provider,
        Project.repository,
    )
    .select_from(Session)
    .join(User, User.id == Session.user_id)
    .join(Membership, Membership.user_id == User.id)
    .join(Project, Project.organization_id == Membership.organization_id)
    .join(ContentIndex, sa.and_(ContentIndex.project_id == Project.id, ContentIndex.branch == Project.branch))
    .where(
        *LIVING,
        User.email_verified.is_(sa.true()),
        Project.id == sa.bindparam("wanted"),
        ContentIndex.status == IndexStatus.READY,
    )
)


def known(request: Request, project_id: str) -> Known | None:
    """The project's index, where the caller is a member and names its commit in `If-None-Match`.

    Raises:
        TooManyRequests: the caller's rate is used up.
    """
    tags, token = request.headers.get("If-None-Match"), request.cookies.get(login.cookie_name())
    if not tags or not token or request.query_string:
        return None
    given = {"token_hash": hash_token(token), "now": clock.now(), "wanted": project_id}
    with current_app.extensions["reading_engine"].connect() as connection:
        row: Any = connection.execute(_READY, given).first()
    if row is None or not caching.names(tags, row.commit_sha) or login.is_due(row.last_seen_at):
        return None
    rate_limits.check_signed_in(row.id)
    return Known(*row[2:])

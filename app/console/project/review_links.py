"""Links for the review of a set: the form that makes one, the list of those that exist, and their revocation."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import segno
from flask import Response
from marshmallow import fields

from app.console.blueprint import blueprint
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.errors import NotFound
from app.http.actions import run
from app.http.validation import RequestQuery
from app.resources.change_set.guards import ChangeSetScope, set_of
from app.resources.change_set.service import check_publisher
from app.resources.change_set.states import OPEN
from app.resources.review_link import actions, queries
from app.resources.review_link.guards import REVOKE, LinkScope
from app.resources.review_link.schemas import DEFAULT_DAYS, ShareBody
from app.resources.review_link.service import MAX_DAYS

DAYS = (1, 3, 7, DEFAULT_DAYS, MAX_DAYS)
MAX_LISTED = 100


@dataclass(frozen=True, kw_only=True)
class LinksQuery(RequestQuery):
    """The id of the link that was made."""

    link: Annotated[str, fields.String(load_default="")]


@blueprint.get(f"{SET}/links")
@Page(guard=SET_MEMBER, query=LinksQuery)
def review_links(*, scope: ChangeSetScope, query: LinksQuery) -> Response:
    """List the links of a set with the form that makes one."""
    check_publisher(scope.project, scope.role)
    view = ShownSet(scope)
    links, _meta = queries.page(scope.change_set, cursor=None, limit=MAX_LISTED)
    values: dict[str, Any] = {"view": view, "one": view.shown, "links": [_texts(link) for link in links]}
    is_open = scope.change_set.state in OPEN and not view.is_archived
    return page("changes/links.html", new_id=query.link, days=DAYS, is_open=is_open, is_secret=True, **values)


def _texts(link: queries.Shown) -> queries.Shown:
    """Return a link with its times as texts, and its address as a QR code."""
    times = ("opened_at", "expires_at", "createdAt")
    texts = {name: time.isoformat() for name in times if isinstance(time := link[name], datetime)}
    code = segno.make(str(link["url"]), error="m").svg_data_uri(scale=4) if link["url"] is not None else None
    return link | texts | {"code": code}


@blueprint.post(f"{SET}/links")
@Page(
    guard=SET_MEMBER,
    inputs=("receiver", "email", "message", "rights", "expires_in_days", "password", "blocks_hosts", "shows_commit"),
    shown_by="review_links",
)
def share_set(*, scope: ChangeSetScope, form: Form) -> Response:
    """Make a link, or renew the one with the same settings, and mail it if an address was entered."""
    days = form.text("expires_in_days")
    data = {
        "rights": form.text("rights"),
        "expires_in_days": int(days) if days.isdecimal() else days,
        "blocks_hosts": form.is_checked("blocks_hosts"),
        "commit_sha": scope.change_set.head_sha if form.is_checked("shows_commit") else None,
    }
    data |= {name: form.optional(name) for name in ("receiver", "email", "message", "password")}
    body = ShareBody.loaded(data)
    shared = run(
        lambda scope: actions.share(set_of(scope), body.options, password=body.password, email=body.email),
        scope.path,
        guard=SET_MEMBER,
        outside=True,
        rate="review_link_create",
    )
    done = "mailed" if body.email else "shared"
    return see_other(set_url(scope, f"/links?done={done}&link={shared.shown['id']}"))


@blueprint.post(f"{SET}/links/<link_id>/revoke")
@Page(guard=SET_MEMBER, inputs=(), shown_by="review_links")
def revoke_link(*, scope: ChangeSetScope, form: Form) -> Response:
    """End a link of the set at once."""

    def revoke(scope: LinkScope) -> queries.Shown:
        if scope.change_set.id != scope.path["change_set_id"]:
            raise NotFound
        return actions.revoke(scope.link, scope.project, scope.role)

    run(revoke, scope.path, REVOKE)
    return see_other(set_url(scope, "/links?done=link-ended"))

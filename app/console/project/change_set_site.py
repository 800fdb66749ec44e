"""The built site of a set: the part of its page that a script reads again, links to both versions, and the request."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from flask import Response
from marshmallow import fields

from app.console.blueprint import blueprint
from app.console.project.change_sets import SET, SET_MEMBER, ShownSet, set_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.content.page_blocks import FIRST_MARK
from app.extensions import current_settings, drivers
from app.http.actions import run
from app.http.validation import Length, RequestQuery
from app.models.site_build import BuildState, SiteBuild
from app.resources.change_set.guards import ChangeSetScope
from app.resources.sandbox.lifecycle import PreviewUrls
from app.resources.site_build import actions
from app.resources.site_build.changed_pages import PageChange, newest_builds
from app.resources.site_build.page_comparison import PARAMETER, compare_page


@dataclass(frozen=True, kw_only=True)
class KnownQuery(RequestQuery):
    """The state that the page shows already."""

    known: Annotated[str, fields.String(load_default="", validate=Length(max=40))]


@dataclass(frozen=True, kw_only=True)
class OpenSiteQuery(RequestQuery):
    """An address of the site, with the changes or before them."""

    at: Annotated[str, fields.String(load_default="", validate=Length(max=2048))]
    before: Annotated[bool, fields.Boolean(load_default=False)]


@dataclass(frozen=True, kw_only=True)
class SitePageQuery(RequestQuery):
    """An address of the site."""

    at: Annotated[str, fields.String(load_default="/", validate=Length(max=2048))]


@blueprint.get(f"{SET}/site")
@Page(guard=SET_MEMBER, query=KnownQuery)
def built_site(*, scope: ChangeSetScope, query: KnownQuery) -> Response:
    """Show the built site of a set. The response is empty if the state is the known one."""
    view = ShownSet(scope)
    if query.known == view.site.progress:
        return Response(status=HTTPStatus.NO_CONTENT)
    return page("changes/site.html", view=view, one=view.shown)


@blueprint.get(f"{SET}/open-site")
@Page(guard=SET_MEMBER, query=OpenSiteQuery)
def open_site(*, scope: ChangeSetScope, query: OpenSiteQuery) -> Response:
    """Redirect to a page of a built site with a new token, or to the page of the set if there is no such site."""
    build, base = newest_builds(scope.change_set)
    shown = base if query.before else build
    if shown is None or shown.state is not BuildState.READY:
        return see_other(set_url(scope, "#site"))
    return see_other(_address(shown, scope, query.at))


def _address(build: SiteBuild, scope: ChangeSetScope, at: str, *more: str) -> str:
    """Return the address of a page of a built site with a new token and more parameters."""
    site, _sep, token = PreviewUrls.of(current_settings()).link(build.label, scope.caller.id).partition("?")
    return f"{site}{quote(at.lstrip('/'), safe='/%')}?{'&'.join([*more, token])}"


@blueprint.get(f"{SET}/site/page")
@Page(guard=SET_MEMBER, query=SitePageQuery)
def site_page(*, scope: ChangeSetScope, query: SitePageQuery) -> Response:
    """Show a page of the built site before and after the changes, or the page of the set if one is not built."""
    view, (build, base) = ShownSet(scope), newest_builds(scope.change_set)
    if build is None or base is None or {build.state, base.state} != {BuildState.READY}:
        return see_other(set_url(scope, "#site"))
    compared = compare_page(build, base, query.at, drivers.storage)
    marks = f"{PARAMETER}={scope.change_set.id}"
    frames = {
        name: f"{_address(own, scope, query.at, marks)}#{FIRST_MARK}"
        for name, own, missing in (("before", base, PageChange.ADDED), ("after", build, PageChange.REMOVED))
        if compared.kind is not missing
    }
    return page("changes/site_page.html", one=view.shown, compared=compared, frames=frames, at=query.at)


@blueprint.post(f"{SET}/site")
@Page(guard=SET_MEMBER, inputs=(), shown_by="change_set")
def request_site(*, scope: ChangeSetScope, form: Form) -> Response:
    """Build the site with the changes of a set, and without them."""
    limit_mb = current_settings().sandbox.build_storage_mb
    run(
        lambda scope: actions.request_set(scope.change_set, scope.project, drivers.sandbox, scope.caller.id, limit_mb),
        scope.path,
        guard=SET_MEMBER,
        outside=True,
    )
    return see_other(set_url(scope, "#site"))

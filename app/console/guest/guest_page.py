"""The page of a review link: the change on the built site for a guest, and the forms for comments and the verdict.

A GET changes nothing, because scanners of mail open links and press buttons. A guest is counted when a name is sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlencode

from flask import Response, request
from marshmallow import fields, validate

from app.console.blueprint import GUEST_ROOT, guest_blueprint
from app.console.project.built_site import drafts_of
from app.console.project.change_sets import ChangedPages, changed_pages
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.text_quotes import QuotePosition
from app.core.errors import InvalidRequest
from app.extensions import current_settings, drivers
from app.http.actions import run
from app.http.validation import Length, NameField, RequestBody, RequestQuery, text
from app.models.change_set import Verdict
from app.models.review_link import LinkRights
from app.models.site_build import UNFINISHED, BuildState
from app.resources.change_set import queries
from app.resources.change_set.guards import set_of
from app.resources.change_set.reviews import Review
from app.resources.change_set.states import OPEN, REVIEWED
from app.resources.review_link import actions, service
from app.resources.review_link.guards import GUEST, GuestScope, check_active
from app.resources.sandbox.lifecycle import PreviewUrls
from app.resources.site_build.changed_pages import BuiltPage, PageComparison, compare
from app.resources.site_build.page_comparison import PARAMETER
from app.resources.site_build.page_texts import positions_of
from app.security.guest_cookies import AGE_S, COOKIE, GuestCookie, GuestCookieSigner
from app.security.secrets import hash_token

URL = "/<secret>"
MAX_NAME, MAX_BODY, MAX_ADDRESS, MAX_QUOTE, MAX_CONTEXT = 80, 10_000, 2_048, 500, 64
MAX_COMMENTS, MAX_PAGES, MAX_TEXTS = 200, 200, 20


@dataclass(frozen=True, kw_only=True)
class GuestQuery(RequestQuery):
    """The page of the site that is shown, whether it is shown as it was, and whether its changes are marked."""

    page: Annotated[str, fields.String(load_default="", validate=Length(max=MAX_ADDRESS))]
    before: Annotated[bool, fields.Boolean(load_default=False)]
    marks: Annotated[bool, fields.Boolean(load_default=False)]


@dataclass(frozen=True, kw_only=True)
class NameBody(RequestBody):
    """The name of a guest."""

    name: Annotated[str, NameField(MAX_NAME, required=True)]


@dataclass(frozen=True, kw_only=True)
class GuestCommentBody(RequestBody):
    """A comment on the change, on a page of the site, or on a text of the page."""

    body: Annotated[str, text(1, MAX_BODY)]
    page: Annotated[str | None, fields.String(load_default=None, allow_none=True, validate=Length(max=MAX_ADDRESS))]
    exact: Annotated[str, fields.String(load_default="", validate=Length(max=MAX_QUOTE))]
    prefix: Annotated[str, fields.String(load_default="", validate=Length(max=MAX_CONTEXT))]
    suffix: Annotated[str, fields.String(load_default="", validate=Length(max=MAX_CONTEXT))]

    @property
    def part(self) -> dict[str, object]:
        """The columns of the part that the comment concerns. A quotation needs a page."""
        quote = {"exact": self.exact, "prefix": self.prefix, "suffix": self.suffix}
        return {"page": self.page, "quote": quote if self.page and self.exact else None}


@dataclass(frozen=True, kw_only=True)
class VerdictBody(RequestBody):
    """An approval, or a request for changes with its reason. `head_sha` is the commit that the guest saw."""

    verdict: Annotated[
        Verdict, fields.Enum(Verdict, by_value=True, required=True, validate=validate.NoneOf([Verdict.COMMENT]))
    ]
    body: Annotated[str, fields.String(load_default="", validate=Length(max=MAX_BODY))]
    head_sha: Annotated[str, text(1, 64)]


class GuestView:
    """The values of the page of a link."""

    address = staticmethod(unquote)

    def __init__(self, scope: GuestScope, cookie: GuestCookie, query: GuestQuery) -> None:
        """Read the builds and the comments of the link."""
        self.link, self.change_set, self.sender, self.query = scope.link, scope.change_set, scope.sender, query
        self.scope, self.project, self.guest = scope, scope.project, cookie.name
        self.url = url_of(scope)
        self.head_sha = scope.link.commit_sha or scope.change_set.head_sha
        self.compared: PageComparison = compare(scope.change_set, scope.project, head_sha=scope.link.commit_sha)
        build = self.compared.build
        self.is_building = build is not None and build.state in UNFINISHED
        self.is_built = build is not None and build.state is BuildState.READY
        self.is_open = scope.change_set.state in OPEN and not GUEST.is_archived(scope)
        self.may_comment = self.is_open and self.link.rights is not LinkRights.VIEW
        self.may_review = self.is_open and scope.change_set.state in REVIEWED and self.link.rights is LinkRights.APPROVE

    @property
    def pages(self) -> Sequence[BuiltPage]:
        """The pages that change, at most `MAX_PAGES`."""
        return self.compared.pages[:MAX_PAGES]

    @cached_property
    def drafts(self) -> Sequence[str]:
        """The titles of the drafts of the set if no page of the site changes."""
        return drafts_of(self.scope, self.compared, self.head_sha)

    @cached_property
    def shown(self) -> BuiltPage | None:
        """The page of the list that is shown: that of the query, else the first one."""
        listed = {changed.url: changed for changed in self.compared.pages}
        return listed.get(self.query.page) or (next(iter(self.pages), None) if not self.query.page else None)

    @property
    def is_before(self) -> bool:
        """True if the page is shown as it was. A removed page has no other state."""
        return self.shown is not None and (self.query.before or self.shown.kind == "removed")

    @property
    def frame_url(self) -> str | None:
        """The address of the shown page at the host of the build for this link, or None."""
        build = self.compared.base if self.is_before else self.compared.build
        if build is None or build.state is not BuildState.READY:
            return None
        site = PreviewUrls.of(current_settings()).address(f"{build.label}-{self.link.host_key}").url
        path = self.shown.url if self.shown is not None else quote(self.query.page, safe="/%")
        return site + path.lstrip("/") + (f"?{PARAMETER}={self.change_set.id}" if self.query.marks else "")

    def title_of(self, address: str) -> str:
        """Return the title of a changed page, else its address."""
        titles = {changed.url: changed.title for changed in self.compared.pages}
        return titles.get(address) or unquote(address)

    def page_url(self, address: str, **shown: bool) -> str:
        """Return the URL that shows a page of the site: as it was (`before`), with marks at its changes (`marks`)."""
        query = {"page": address} | {name: "true" for name, is_set in shown.items() if is_set}
        return f"{self.url}?{urlencode(query)}"

    @cached_property
    def entries(self) -> list[dict[str, Any]]:
        """The comments and verdicts that came by this link, and the answers to them, oldest first."""
        comments = queries.comments_of_link(self.link.id, limit=MAX_COMMENTS)
        reviews = queries.reviews_of_link(self.link.id, self.change_set.head_sha)
        return sorted([*comments, *reviews], key=lambda entry: str(entry["createdAt"]))

    @cached_property
    def positions(self) -> dict[str, QuotePosition]:
        """The present positions of the texts that comments quote, by the id of the comment."""
        return positions_of(self.entries, self.compared.build, drivers.storage)


def url_of(scope: GuestScope, path: str = "") -> str:
    """Return the URL of the page of a link, or of a form of it."""
    return f"{GUEST_ROOT}/{quote(scope.path['secret'], safe='')}{path}"


@guest_blueprint.get(URL)
@Page(guard=GUEST, query=GuestQuery)
def review_page(*, scope: GuestScope, query: GuestQuery) -> Response:
    """Show the change, the form for the password, or that the link has ended."""
    if not scope.link.is_active:
        return page("guest/ended.html", status=HTTPStatus.GONE, scope=scope)
    cookie = _cookie(scope)
    if not _has_password(scope, cookie):
        return page("guest/password.html", scope=scope, url=url_of(scope))
    return page("guest/page.html", view=GuestView(scope, cookie, query))


@guest_blueprint.get(f"{URL}/texts")
@Page(guard=GUEST)
def review_texts(*, scope: GuestScope) -> Response:
    """Compare the texts of the changed pages, for a site that cannot be built. Pictures are named only."""
    if not scope.link.is_active or not _has_password(scope, _cookie(scope)):
        return see_other(url_of(scope))
    changed: ChangedPages = changed_pages(scope, None, opened=MAX_TEXTS, has_pictures=False)
    return page("guest/texts.html", changed=changed, scope=scope, url=url_of(scope))


@guest_blueprint.post(f"{URL}/password")
@Page(guard=GUEST, inputs=("password",), shown_by="review_page")
def send_password(*, scope: GuestScope, form: Form) -> Response:
    """Compare the password. A link has few tries, so that it cannot be guessed."""
    check_active(scope)
    password = form.text("password")
    run(lambda scope: actions.check_password(scope.link, password), scope.path, guard=GUEST, outside=True)
    return _with_cookie(scope, replace(_cookie(scope), password=_digest(scope)))


@guest_blueprint.post(f"{URL}/name")
@Page(guard=GUEST, inputs=("name",), shown_by="review_page", query=GuestQuery)
def send_name(*, scope: GuestScope, query: GuestQuery, form: Form) -> Response:
    """Store the name of the guest in a cookie of this link, and count the guest."""
    cookie = _admitted(scope)
    body = NameBody.loaded(form.texts("name"))
    if cookie.name is None:
        run(lambda scope: service.count_guest(scope.link.id), scope.path, guard=GUEST)
    return _with_cookie(scope, replace(cookie, name=body.name), query)


@guest_blueprint.post(f"{URL}/comments")
@Page(guard=GUEST, inputs=("body", "page", "exact", "prefix", "suffix"), shown_by="review_page", query=GuestQuery)
def send_comment(*, scope: GuestScope, query: GuestQuery, form: Form) -> Response:
    """Store a comment of the guest."""
    name = _named(scope)
    body = GuestCommentBody.loaded(form.texts("body", "exact", "prefix", "suffix") | {"page": form.optional("page")})
    run(
        lambda scope: actions.comment(scope.change_set, scope.link, name, body.body, **body.part),
        scope.path,
        guard=GUEST,
    )
    return _back(scope, query, "commented")


@guest_blueprint.post(f"{URL}/verdict")
@Page(guard=GUEST, inputs=("verdict", "body", "head_sha"), shown_by="review_page", query=GuestQuery)
def send_verdict(*, scope: GuestScope, query: GuestQuery, form: Form) -> Response:
    """Store the approval of the guest, or the request for changes."""
    name = _named(scope)
    body = VerdictBody.loaded(form.texts("verdict", "body", "head_sha"))
    if body.verdict is Verdict.CHANGES and not body.body.strip():
        raise InvalidRequest.field("body", _("Say what should be changed."))
    run(
        lambda scope: actions.review(set_of(scope), scope.link, name, Review(body.verdict, body.body, body.head_sha)),
        scope.path,
        guard=GUEST,
        outside=True,
    )
    return _back(scope, query, "approved" if body.verdict is Verdict.APPROVE else "changes_requested")


def _signer() -> GuestCookieSigner:
    return GuestCookieSigner(current_settings().security.secret_key)


def _cookie(scope: GuestScope) -> GuestCookie:
    return _signer().read(request.cookies.get(COOKIE, ""), scope.link.id)


def _digest(scope: GuestScope) -> str:
    return hash_token(scope.link.password_hash or "")


def _has_password(scope: GuestScope, cookie: GuestCookie) -> bool:
    return scope.link.password_hash is None or cookie.password == _digest(scope)


def _admitted(scope: GuestScope) -> GuestCookie:
    """Return the cookie of a guest who may see the change. Raises LinkEnded, InvalidRequest."""
    check_active(scope)
    cookie = _cookie(scope)
    if not _has_password(scope, cookie):
        raise InvalidRequest.field("password", actions.WRONG_PASSWORD)
    return cookie


def _named(scope: GuestScope) -> str:
    """Return the name of the guest. Raises the errors of `_admitted`, and InvalidRequest without a name."""
    name = _admitted(scope).name
    if name is None:
        raise InvalidRequest.field("name", _("Enter your name first."))
    return name


def _back(scope: GuestScope, query: GuestQuery, done: str) -> Response:
    shown = {"page": query.page} if query.page else {}
    return see_other(f"{url_of(scope)}?{urlencode(shown | {'done': done})}#conversation")


def _with_cookie(scope: GuestScope, cookie: GuestCookie, query: GuestQuery | None = None) -> Response:
    shown = f"?{urlencode({'page': query.page})}" if query is not None and query.page else ""
    response = see_other(url_of(scope) + shown)
    response.set_cookie(
        COOKIE,
        _signer().sign(scope.link.id, cookie),
        max_age=AGE_S,
        path=url_of(scope),
        secure=current_settings().server.base_url.startswith("https:"),
        httponly=True,
        samesite="Lax",
    )
    return response


@guest_blueprint.after_request
def forbid_storage(response: Response) -> Response:
    """Let no cache store a page of a guest, and no search engine list it."""
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    return response

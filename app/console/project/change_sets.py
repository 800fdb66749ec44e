"""Sets of changes: the board of a project, the page of a set, and the steps from a draft to the published site."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.destinations import PossibleReviewer, Proposals, all_proposals, create_in, possible_reviewers
from app.console.files.page_source import branch_source
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.project import changes
from app.console.project.built_site import SetSite
from app.console.project.change_set_texts import (
    STATE_TEXTS,
    PagePart,
    comment_label,
    next_step,
    parts_of,
    problem_text,
    quote,
    schedule_time,
)
from app.console.shell import frame
from app.console.shell.field_labels import page_name
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.content.schema.relations import title_of
from app.content.search_text import read_text
from app.core.errors import AppError, NotFound
from app.database import transactions
from app.drivers.errors import DriverError
from app.extensions import drivers
from app.http.validation import Cursor, Length, RequestQuery
from app.models.change_set import ChangeSet
from app.models.change_set import ChangeSetState as State
from app.resources.change_set import actions, notices, queries, reviews, service
from app.resources.change_set.errors import MissingBranch
from app.resources.change_set.guards import ChangeSetScope, member_of_set, set_of
from app.resources.change_set.queries import ChangeSetFilter
from app.resources.change_set.schemas import CreateChangeSetBody, DiffQuery
from app.resources.change_set.service import MAX_OPEN, MAX_TITLE
from app.resources.change_set.states import OPEN, Step
from app.resources.project_content.versions.comparison import read_versions
from app.resources.project_draft.queries import drafts_on
from app.resources.review_link import queries as links
from app.resources.site_build.page_texts import positions_of

URL = f"{BASE}/changes"
SET = f"{URL}/<change_set_id>"
SET_MEMBER = member_of_set()
PUBLISHED, PER_PAGE, FILES = 8, 50, 100
OPENED = 3
"""Changed pages whose comparison is a part of the page of a set. Others are read when they are opened."""

NEW_TITLES = 20
"""New pages of a list whose title is read from the set."""

REFRESH_S = 5
COLUMNS: Mapping[str, tuple[State, ...]] = {
    "draft": (State.DRAFT, State.CHANGES_REQUESTED, State.FAILED),
    "in_review": (State.IN_REVIEW,),
    "approved": (State.APPROVED,),
    "scheduled": (State.SCHEDULED, State.PUBLISHING),
}
"""The columns of the board and the states of their sets. Published sets follow."""


@dataclass(frozen=True, kw_only=True)
class ChangesQuery(RequestQuery):
    """A state whose sets are listed, or the board without one."""

    state: Annotated[
        str, fields.String(load_default="", validate=validate.OneOf(["", *(str(state) for state in State)]))
    ]
    mine: Annotated[bool, fields.Boolean(load_default=False)]
    cursor: Cursor


@dataclass(frozen=True, kw_only=True)
class ChangedPagesQuery(RequestQuery):
    """A position in the changed pages of a set. With `lists_drafts` the page names the drafts of the user."""

    cursor: Annotated[str | None, fields.String(load_default=None, validate=Length(max=2048))]
    lists_drafts: Annotated[bool, fields.Boolean(load_default=False)]


@dataclass(frozen=True, kw_only=True)
class ChangedPageQuery(RequestQuery):
    """The number of the page in a list into which a script loads it, or 0."""

    number: Annotated[int, fields.Integer(load_default=0, validate=validate.Range(0, FILES))]


def set_url(scope: Scope, path: str = "", set_id: str | None = None) -> str:
    """Return the URL of the page of a set, or of a page below it."""
    return project_url(scope, f"/changes/{set_id or scope.path['change_set_id']}{path}")


@blueprint.get(URL)
@Page(guard=MEMBER, query=ChangesQuery)
def changes_board(*, scope: ProjectScope, query: ChangesQuery) -> Response:
    """Show the open sets by state and the latest published ones, or list the sets of one state."""
    author = scope.caller.id if query.mine else None
    waiting = {entry.change_set.id for entry in queries.waiting(scope.caller.id, [scope.project.id], limit=MAX_OPEN)}
    values = STATE_TEXTS | {"schedule_time": schedule_time, "waiting": waiting, "query": query}
    if query.state:
        state = ChangeSetFilter(State(query.state), author)
        listed, meta = queries.page(scope.project, state, cursor=query.cursor, limit=PER_PAGE)
        return page("changes/list.html", sets=listed, meta=meta, **values)
    columns, published = _board(scope, author)
    return page("changes/board.html", columns=columns, published=published, **values)


def _board(scope: ProjectScope, author: str | None) -> tuple[dict[str, list[queries.Shown]], queries.Shown]:
    """Return the sets of each column, and the `meta` of the published ones."""
    is_open, is_published = ChangeSetFilter(None, author, is_open=True), ChangeSetFilter(State.PUBLISHED, author)
    opened, _meta = queries.page(scope.project, is_open, cursor=None, limit=MAX_OPEN)
    published, meta = queries.page(scope.project, is_published, cursor=None, limit=PUBLISHED)
    columns = {
        name: [opened_set for opened_set in opened if opened_set["state"] in states] for name, states in COLUMNS.items()
    }
    columns["published"] = published
    return columns, meta


@blueprint.post(URL)
@Page(guard=MEMBER, inputs=("title", "description"), shown_by="changes_board")
def create_set(*, scope: ProjectScope, form: Form) -> Response:
    """Create an empty set."""
    body = CreateChangeSetBody.loaded({"title": form.text("title"), "description": form.optional("description")})
    return see_other(set_url(scope, "?done=created", str(create_in(scope, body)["id"])))


@dataclass(frozen=True)
class ChangedPage:
    """A changed page of a set. `file` has no contents unless the page is compared."""

    file: Mapping[str, Any]
    title: str
    text: changes.ComparedText | None = None
    parts: Sequence[PagePart] = ()
    is_opened: bool = False


class ShownSet:
    """A set as its page shows it: its values, the steps of the reader, reviews and comments."""

    def __init__(self, scope: ChangeSetScope) -> None:
        """Read the rows of a set.

        Raises:
            NotFound: the set belongs to another project than that of the URL.
        """
        row = scope.change_set
        if row.project_id != scope.path["project_id"]:
            raise NotFound
        self.scope, self.shown = scope, dict[str, Any](queries.shown(row, scope.project))
        self.is_archived = SET_MEMBER.is_archived(scope)
        available = service.available_steps(row, scope.project, scope.role, user=scope.caller)
        self.steps = frozenset[Step]() if self.is_archived else available
        self.reviews, _meta = queries.reviews(row, cursor=None, limit=reviews.MAX_REVIEWS)
        self.comments, _meta = queries.comments(row.id, cursor=None, limit=actions.MAX_COMMENTS)

    @cached_property
    def is_approved(self) -> bool:
        """True if an approval of the reader counts."""
        row = self.scope.change_set
        return self.scope.caller.id in queries.approvals_of([row])[row.id].valid

    @property
    def has_news(self) -> bool:
        """True if the reader has unread news about the set."""
        return notices.has_unread(self.scope.caller.id, self.scope.change_set.id)

    @cached_property
    def site(self) -> SetSite:
        """The built site with the changes."""
        return SetSite(self.scope, drivers.sandbox, is_archived=self.is_archived)

    @property
    def may_share(self) -> bool:
        """True if the reader can make links for people without an account."""
        row = self.scope.change_set
        return not self.is_archived and row.state in OPEN and service.is_publisher(self.scope.project, self.scope.role)

    @cached_property
    def positions(self) -> Mapping[str, str]:
        """The present positions of the texts that comments quote, by the id of the comment."""
        return positions_of(self.unresolved, self.site.build, drivers.storage)

    @property
    def active_links(self) -> int:
        """The number of these links."""
        return links.count_active(self.scope.change_set.id)

    @property
    def people(self) -> Sequence[PossibleReviewer]:
        """The members who can be asked for a review."""
        return possible_reviewers(self.scope, self.scope.change_set)

    @property
    def others(self) -> Proposals | None:
        """The other sets to which the reader can move a page, or None."""
        row = self.scope.change_set
        return all_proposals(self.scope, row.title, without=row.id) if self.may(Step.COMMIT) else None

    @property
    def revert(self) -> ChangeSet | None:
        """The set that takes this one back."""
        return queries.revert_of(self.scope.change_set)

    @property
    def next(self) -> str:
        """A sentence with the next step."""
        row = self.scope.change_set
        is_own = self.scope.caller.id in {row.creator_id, *queries.author_ids(row.id)}
        return next_step(self.shown, self.steps, is_own=is_own, is_reviewed=self.is_approved)

    @property
    def problem(self) -> str:
        return problem_text(self.shown)

    def may(self, name: str) -> bool:
        """Return whether the reader can take a step now."""
        return Step(name) in self.steps

    def comments_on(self, path: str | None) -> list[dict[str, Any]]:
        """Return the comments on a page, or those on the whole set."""
        return [comment for comment in self.comments if comment["path"] == path]

    @property
    def unresolved(self) -> list[dict[str, Any]]:
        """The comments that are not resolved."""
        return [comment for comment in self.comments if comment["resolved_at"] is None]

    def timeline(self, listed: Sequence["ChangedPage"]) -> list[dict[str, Any]]:
        """Return the reviews, and the comments on the whole set and on pages that are not listed, oldest first."""
        paths = {page.file["path"] for page in listed}
        others = [comment for comment in self.comments if comment["path"] not in paths]
        return sorted([*self.reviews, *others], key=lambda entry: str(entry["createdAt"]))


@dataclass(frozen=True)
class ChangedPages:
    """A page of the changed pages of a set. `head_sha` is None if they cannot be read."""

    pages: Sequence[ChangedPage] = ()
    head_sha: str | None = None
    next_cursor: str | None = None
    is_deleted: bool = False


@blueprint.get(SET)
@Page(guard=SET_MEMBER, query=ChangedPagesQuery)
def change_set(*, scope: ChangeSetScope, query: ChangedPagesQuery) -> Response:
    """Show a set: its state, its changed pages, its reviews and comments. The page marks the news about it as read."""
    shown = ShownSet(scope)
    refresh_s = REFRESH_S if shown.shown["state"] == State.PUBLISHING else None
    changed = changed_pages(scope, query.cursor)
    drafts = _draft_titles(scope) if query.lists_drafts else {}
    return page("changes/set.html", refresh_s=refresh_s, view=shown, changed=changed, drafts=drafts, **_values(shown))


def _draft_titles(scope: ChangeSetScope) -> dict[str, str]:
    """Return the titles of the drafts of the reader by path."""
    drafts = drafts_on(scope.project, by=scope.caller)
    return frame.current().titles([own.draft.file for own in drafts])


def _values(view: ShownSet) -> dict[str, Any]:
    """Return the values of the pages with changed pages of a set."""
    texts = {**STATE_TEXTS, "comment_label": comment_label, "quote": quote, "max_title": MAX_TITLE}
    return {**texts, "one": view.shown, "proposals": view.others}


def changed_pages(
    scope: ChangeSetScope, cursor: str | None, *, opened: int = OPENED, has_pictures: bool = True
) -> ChangedPages:
    """Return the changed pages, the first `opened` ones compared. Reads them from the Git host."""
    try:
        difference, meta = _compare(scope, cursor=cursor, limit=FILES)
        files, head = difference["files"], difference["head_sha"]
        titles = titles_of_changed(scope, files, head)
        compared = [_compared(scope, file, titles, has_pictures=has_pictures) for file in files[:opened]]
    except MissingBranch:
        return ChangedPages(is_deleted=True)
    except (AppError, DriverError):
        return ChangedPages()
    listed = [ChangedPage(file, titles[file["path"]]) for file in files[opened:]]
    return ChangedPages([*compared, *listed], head, str(meta["next_cursor"]) if meta["next_cursor"] else None)


def _compare(scope: ChangeSetScope, **values: object) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the changes of a set, or of a file of it, and their `meta`. Calls the Git host."""
    query = DiffQuery.loaded(values)
    with transactions.outside_transaction():
        difference = actions.compare(set_of(scope), **vars(query))
    return difference.to_dict(scope.project.id), difference.meta


def titles_of_changed(scope: ProjectScope, files: Sequence[Mapping[str, Any]], head: str) -> dict[str, str]:
    """Return the titles of changed pages by path: those of the site, and of some new pages those at `head`."""
    titles = frame.current().titles([file["path"] for file in files])
    present = [file["path"] for file in files if file["status"] != "removed"]
    new = [path for path in present if titles[path] == page_name(path)][:NEW_TITLES]
    with transactions.outside_transaction():
        contents = read_versions(branch_source(scope), [(head, path) for path in new])
    return titles | dict(_read_titles(new, contents))


def _read_titles(paths: Sequence[str], contents: Sequence[bytes | None]) -> Iterator[tuple[str, str]]:
    for path, content in zip(paths, contents, strict=True):
        text = read_text(path, content) if content is not None else None
        title = (text.title or title_of(text.front_matter or {})) if text is not None else None
        if title:
            yield path, title


def _compared(
    scope: ChangeSetScope, file: Mapping[str, Any], titles: Mapping[str, str], *, has_pictures: bool = True
) -> ChangedPage:
    """Return a changed page with the comparison of its contents. Reads both versions from the Git host."""
    difference, _meta = _compare(scope, file=file["path"])
    title = titles[file["path"]]
    if not difference["files"]:
        return ChangedPage(file, title)
    [compared] = difference["files"]
    page_changes = changes.read_page_changes(scope, compared)
    parts = parts_of([change["pointer"] for change in compared["front_matter"] or ()], page_changes)
    text = changes.compared_text(scope, compared, page_changes, has_pictures=has_pictures)
    return ChangedPage(compared, title, text, parts, is_opened=True)


@blueprint.get(f"{SET}/pages/<path:file>")
@Page(guard=SET_MEMBER, query=ChangedPageQuery)
def changed_page(*, scope: ChangeSetScope, query: ChangedPageQuery) -> Response:
    """Show the comparison of one changed page with its comments."""
    shown, file = ShownSet(scope), {"path": scope.path["file"], "status": "modified"}
    with_content = _compared(scope, file, titles_of_changed(scope, [file], scope.change_set.head_sha))
    return page("changes/page.html", view=shown, each=with_content, number=query.number, **_values(shown))

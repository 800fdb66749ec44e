"""The destination of a form of the editor: the site, or a change set, which the pages call “changes”."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import structlog

from app.access.scope import ProjectScope
from app.console.files.page_source import branch_source, present_head
from app.console.files.scope import MEMBER, EditorScope, find_set, in_set
from app.console.shell.forms import Form
from app.console.shell.translation import gettext as _
from app.content.entry_files import EntryFiles, path_of_parts
from app.content.slugs import file_name_of
from app.core.errors import AppError, Conflict, InvalidRequest, NotFound, PayloadTooLarge
from app.core.limits import CommitLimits
from app.core.outbound import UnrecordedAct
from app.drivers.errors import DriverError
from app.drivers.git.port import Action, FileChange
from app.http.actions import run
from app.models.change_set import ChangeSet, ChangeSetState
from app.resources.change_set import actions, queries
from app.resources.change_set.errors import MissingBranch, StateConflict
from app.resources.change_set.guards import member_of_set, set_of
from app.resources.change_set.member_set import MemberSet
from app.resources.change_set.queries import NamedSet, Shown, open_sets, sets_of_paths
from app.resources.change_set.reviews import NO_REVIEWER, ReviewRequest
from app.resources.change_set.schemas import CreateChangeSetBody, SubmitBody
from app.resources.change_set.service import MAX_TITLE, is_publisher
from app.resources.change_set.states import OPEN
from app.resources.project.branches import requires_change_sets
from app.resources.project_content.actions import ContentBranch, save_files
from app.resources.project_content.entry_changes import TOO_MANY_FILES, moved_pages
from app.resources.project_content.guards import branch_of
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.merging import MergeRequest
from app.resources.project_content.schemas.content import CommitFilesBody, SaveFilesBody
from app.resources.project_content.service import UnrecordedSave

log = structlog.get_logger(__name__)
T = TypeVar("T")

SAVE_TO, PROPOSAL, REVIEW = "save-to", "proposal", "review"
CHOSEN, NEW, TITLE = "change-set", "new", "change-set-title"
ADD_TO, REVIEWERS, MESSAGE = "add-to", "reviewers", "review-message"
INPUTS = (SAVE_TO, CHOSEN, TITLE, ADD_TO, REVIEWERS, MESSAGE)
"""The fields of a form that can save in a change set. Without a value of `change-set` it saves on the site.

`add-to` is a button with the id of a set. `save-to` is `review` if a review is requested after the save.
"""

_APPROVED = (ChangeSetState.APPROVED, ChangeSetState.SCHEDULED)


ADDRESS = ("new_path", "path_start", "path_end")
"""The fields of a new path. The console shows editors only the part that names the page."""


def sent_path(form: Form) -> str:
    """Return the new path of a page. Spaces in an address become hyphens."""
    name, start, end = (form.text(field).strip() for field in ADDRESS)
    if name and end:
        name = "/".join(map(file_name_of, name.strip("/").split("/")))
    return path_of_parts(start.strip("/"), name, end) if name else ""


class SetEnded(Conflict):
    """A save in a change set that is published, closed, or has lost its branch (409)."""


class SetPublishing(Conflict):
    """A save in a change set that is being published (409)."""


@dataclass(frozen=True)
class PossibleReviewer:
    """A member who can be asked for a review. `is_suggested` if the form suggests the member."""

    id: str
    name: str | None
    is_suggested: bool


def possible_reviewers(scope: ProjectScope, change_set: ChangeSet | None) -> list[PossibleReviewer]:
    """Return the members who can review: those of the set are suggested, else those who reviewed last."""
    present = (
        [str(person["id"]) for person in queries.reviewers_of([change_set.id]).get(change_set.id, [])]
        if change_set
        else []
    )
    suggested = present or queries.last_reviewers(scope.project.id, scope.caller.id)
    authors = {scope.caller.id, *(queries.author_ids(change_set.id) if change_set else ())}
    members = queries.possible_reviewers(scope.project, authors)
    return [PossibleReviewer(user_id, name, user_id in suggested) for user_id, name in members.items()]


@dataclass(frozen=True)
class Proposals:
    """The change sets in which a form can save, the latest first.

    With `is_required`, members do not save on the site. A change of an approved set needs another review.
    """

    open: Sequence[ChangeSet]
    approved: Sequence[ChangeSet]
    is_required: bool
    title: str
    """The title of a new set."""
    own: ChangeSet | None = None
    """The set that the user changed last."""
    people: Sequence[PossibleReviewer] = ()


def proposals(scope: ProjectScope, title: str) -> Proposals | None:
    """Return the change sets of the project, or None for a page that belongs to one."""
    if isinstance(scope, EditorScope) and scope.change_set is not None:
        return None
    return all_proposals(scope, title)


def all_proposals(scope: ProjectScope, title: str, *, without: str | None = None) -> Proposals:
    """Return the change sets of the project, or those without the set of an id."""
    listed = [other for other in open_sets(scope.project.id) if other.id != without]
    own = queries.latest_of(scope.project.id, scope.caller.id, without=without)
    return Proposals(
        [other for other in listed if other.state not in _APPROVED],
        [other for other in listed if other.state in _APPROVED],
        may_only_propose(scope),
        title[:MAX_TITLE],
        own,
        possible_reviewers(scope, own),
    )


def other_sets(scope: EditorScope, path: str) -> list[NamedSet]:
    """Return the open change sets that change a page, without that of the scope."""
    own = scope.change_set.id if scope.change_set is not None else None
    return [other for other in sets_of_paths(scope.project.id, [path]).get(path, []) if other.id != own]


def may_only_propose(scope: ProjectScope) -> bool:
    """Return whether the user changes the site through change sets only."""
    is_required = requires_change_sets(scope.project.id, scope.project.branch or "")
    return is_required or not is_publisher(scope.project, scope.role)


def is_proposal(form: Form) -> bool:
    """Return whether a form saves in a change set that it names."""
    return form.text(ADD_TO) != "" or (form.text(SAVE_TO) in (PROPOSAL, REVIEW) and form.text(CHOSEN) != "")


def _chosen(form: Form) -> str:
    return form.text(ADD_TO) or form.text(CHOSEN)


def review_request(form: Form) -> ReviewRequest:
    """Return the reviewers and the message of a form. Raises InvalidRequest."""
    sent = {"reviewers": list(form.all(REVIEWERS)), "message": form.text(MESSAGE).strip()}
    return ReviewRequest(**vars(SubmitBody.loaded(sent)))


def _requested(scope: ProjectScope, form: Form, change_set: ChangeSet | None) -> ReviewRequest | None:
    """Return the request for a review of a form that saves in a set, None for a new one. Raises InvalidRequest."""
    if form.text(SAVE_TO) != REVIEW or form.text(ADD_TO):
        return None
    request = review_request(form)
    if not {person.id for person in possible_reviewers(scope, change_set)} >= set(request.reviewers or ()):
        raise InvalidRequest.field(REVIEWERS, NO_REVIEWER)
    return request


def _ask(to: EditorScope, request: ReviewRequest | None) -> None:
    """Request the review of the set in which a form was saved. The save stays if the request fails."""
    if to.change_set is None or request is None:
        return
    set_id = to.change_set.id
    try:
        run_on(set_id, lambda target: actions.submit(target, request, is_addition=True))
    except (AppError, DriverError):
        log.exception("change_set.review_not_requested", change_set_id=set_id)


def ask_without_save(scope: EditorScope, form: Form) -> bool:
    """Request the review of the set of a page whose form changes nothing, if the form asks for it.

    Returns whether it was requested. Raises the errors of `actions.submit`.
    """
    own = scope.change_set
    request = _requested(scope, form, own) if own is not None and not is_proposal(form) else None
    if own is not None and request is not None:
        run_on(own.id, lambda target: actions.submit(target, request, is_addition=True))
    return request is not None


@contextmanager
def destination(scope: ProjectScope, form: Form, title: str) -> Iterator[EditorScope]:
    """Yield the scope in which a form saves. A new change set is deleted again if the block raises an error.

    `title` is that of a new set, if the form has none.

    Raises:
        InvalidRequest: the form names a set that cannot change, or a person who cannot review it.
        LimitReached: the project has the maximum number of open sets.
    """
    own = scope.change_set if isinstance(scope, EditorScope) else None
    if not is_proposal(form) and own is None:
        yield in_set(scope, None)
        return
    change_set = chosen_set(scope, form) if is_proposal(form) else own
    request = _requested(scope, form, change_set)
    if change_set is None:
        with new_set(scope, form.text(TITLE).strip() or title) as to:
            yield to
    else:
        to = in_set(scope, change_set)
        yield to
    _ask(to, request)


def chosen_set(scope: ProjectScope, form: Form) -> ChangeSet | None:
    """Return the change set that a form chooses, or None for a new one and for the site.

    Raises:
        InvalidRequest: it cannot change.
    """
    if not is_proposal(form) or _chosen(form) == NEW:
        return None
    try:
        change_set = find_set(scope, _chosen(form))
    except NotFound:
        raise InvalidRequest.field(CHOSEN, _("These changes do not exist. Choose others.")) from None
    if change_set.state not in OPEN:
        message = _("“%(title)s” cannot be changed any more. Choose other changes.", title=change_set.title)
        raise InvalidRequest.field(CHOSEN, message)
    return change_set


def create_in(scope: ProjectScope, body: CreateChangeSetBody) -> Shown:
    """Create a set in a project. Raises the errors of `actions.create`."""
    return run(lambda scope: actions.create(branch_of(scope), **body.sent()), scope.path, guard=MEMBER, outside=True)


def run_on(change_set_id: str, act: Callable[[MemberSet], UnrecordedAct[T]]) -> T:
    """Run an action of a set that calls its Git host. Raises the errors of the action."""
    ids = {"change_set_id": change_set_id}
    return run(lambda scope: act(set_of(scope)), ids, guard=member_of_set(), outside=True)


@contextmanager
def new_set(scope: ProjectScope, title: str) -> Iterator[EditorScope]:
    """Create a change set and yield its scope. It is deleted again if the block raises an error."""
    set_id = str(create_in(scope, CreateChangeSetBody.loaded({"title": title[:MAX_TITLE]}))["id"])
    try:
        yield in_set(scope, find_set(scope, set_id))
    except Exception:
        try:
            run_on(set_id, actions.discard)
        except Exception:
            log.exception("change_set.not_discarded", change_set_id=set_id)
        raise


def commit(scope: ProjectScope, create: Callable[[ContentBranch], UnrecordedSave]) -> dict[str, Any]:
    """Create a commit of the site, record it, and return what the API does. Raises the errors of `create`."""
    return run(lambda scope: create(branch_of(scope)), scope.path, guard=MEMBER, outside=True)


def save(
    scope: ProjectScope,
    message: str,
    base_sha: str,
    *files: dict[str, Any],
    merges: bool = False,
    shares: bool = False,
) -> dict[str, Any]:
    """Save files as one change of the site, or of the change set of the scope.

    A new file with `blob`, an entry of the repository, receives its content. With `merges`, files that differ from
    their base are merged. With `shares`, translations receive the values that the saved
    entries have in all languages.

    Raises:
        SaveConflict, and the errors of the schema.
        SetEnded: the change set was published or closed.
        SetPublishing: it is being published.
    """
    sent, copies = [file for file in files if "blob" not in file], _copies(files)
    data = {"message": message, "base_sha": base_sha, "files": sent}
    change_set = scope.change_set if isinstance(scope, EditorScope) else None
    if change_set is None:
        request = _with_copies(CommitFilesBody.loaded(data).request, copies)
        return commit(scope, lambda branch: save_files(branch, request, merges=merges, shares=shares))
    body = SaveFilesBody.loaded(data | ({"on_conflict": "merge"} if merges else {}))
    try:
        request = _with_copies(body.request, copies)
        return run_on(change_set.id, lambda target: actions.commit(target, request, merges=body.merges, shares=shares))
    except MissingBranch as error:
        raise SetEnded(ended_text(change_set)) from error
    except StateConflict as error:
        if (error.result or {}).get("state") == ChangeSetState.PUBLISHING:
            text = _("“%(title)s” is being published. Your text is still here. Save it again in a moment.")
            raise SetPublishing(text % {"title": change_set.title}) from error
        raise SetEnded(ended_text(change_set)) from error


def _copies(files: Sequence[dict[str, Any]]) -> list[FileEdit]:
    """Return the edits of the new files with content of the repository. Raises PayloadTooLarge."""
    if len(files) > CommitLimits.files:
        raise PayloadTooLarge(TOO_MANY_FILES)
    return [FileEdit(FileChange(file["path"], Action.CREATE, blob=file["blob"])) for file in files if "blob" in file]


def _with_copies(request: MergeRequest, copies: Sequence[FileEdit]) -> MergeRequest:
    return replace(request, edits=[*request.edits, *copies])


def sent_edit(edit: FileEdit) -> dict[str, Any]:
    """Return an edit with the fields that `save` takes."""
    change, sha = edit.change, edit.base_blob_sha
    return {"path": change.path, "action": change.action, "content": change.content, "base_blob_sha": sha}


def move_edits(to: EditorScope, entries: Sequence[tuple[EntryFiles, str]]) -> list[list[dict[str, Any]]]:
    """Return the edits that move each entry with its files, with relative links to the same files.

    `entries` have the new paths of their pages.
    """
    moves = [entry.moves_to(page) for entry, page in entries]
    all_moves = {old: new for move in moves for old, new in move.items()}
    contents = dict(moved_pages(branch_source(to), present_head(to), all_moves, to.project.generator))
    return [
        [
            {"path": new, "action": "move", "previous_path": old, "content": contents.get(old)}
            for old, new in own.items()
        ]
        for own in moves
    ]


def ended_text(change_set: ChangeSet) -> str:
    """Return the message about a change set that has ended."""
    return _("“%(title)s” cannot be changed any more.", title=change_set.title)

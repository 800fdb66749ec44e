"""The undo of a commit of the history, and of a published set: the question with what changes, and the act."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.project import changes
from app.console.project.change_sets import FILES, OPENED, titles_of_changed
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, lead_back, local_path, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.database import transactions
from app.http.actions import run
from app.http.validation import Length, RequestQuery
from app.models.change_set import ChangeSetState as State
from app.resources.change_set import actions, reversals
from app.resources.change_set.actions import TakenBack
from app.resources.change_set.errors import RevertExists
from app.resources.change_set.reversals import Reversal
from app.resources.change_set.service import MAX_TITLE
from app.resources.project_content.actions import compare_commits
from app.resources.project_content.guards import branch_of


@dataclass(frozen=True, kw_only=True)
class UndoQuery(RequestQuery):
    """The page to which the undo leads."""

    next: Annotated[str, fields.String(load_default="", validate=Length(max=2048))]


def _reversal(scope: ProjectScope) -> Reversal:
    """Return the reversal of the commit of the URL, with a title in the language of the user."""
    reversal = reversals.find(branch_of(scope), scope.path["sha"])
    text = _("Undo: %(change)s") if reversal.reverted is None else _("Take back “%(title)s”")
    return replace(reversal, title=(text % {"change": reversal.subject, "title": reversal.subject})[:MAX_TITLE])


@blueprint.get(f"{BASE}/undo/<sha>")
@Page(guard=MEMBER, query=UndoQuery)
def undo_question(*, scope: ProjectScope, query: UndoQuery) -> Response:
    """Show what an undo changes, the first pages compared."""
    reversal = _reversal(scope)
    back = project_url(scope, f"/changes/{reversal.reverted.id}" if reversal.reverted else "/history")
    return page(
        "project/undo.html",
        reversal=reversal,
        subject=changes.message_texts(scope, [reversal.subject])[0],
        is_at_once=actions.takes_back_at_once(branch_of(scope), scope.role, reversal),
        next=local_path(current_form().text("next") or query.next or back),
        **_difference(scope, reversal),
    )


def _difference(scope: ProjectScope, reversal: Reversal) -> dict[str, Any]:
    """Return the values of the page for what the reversal changes. Calls the Git host."""
    files, count = _compare(scope, reversal, None)
    titles = titles_of_changed(scope, files, reversal.before)
    opened = [file for changed in files[:OPENED] for file in _compare(scope, reversal, changed["path"])[0]]
    texts = [changes.compared_text(scope, file, changes.read_page_changes(scope, file)) for file in opened]
    return {
        "compared": list(zip(opened, texts, strict=True)),
        "listed": files[OPENED:],
        "hidden": count - len(files),
        "titles": titles,
    }


def _compare(scope: ProjectScope, reversal: Reversal, path: str | None) -> tuple[list[dict[str, Any]], int]:
    """Return the changed files without contents, or the comparison of one, and the number of files."""
    versions = {"base": reversal.after, "head": reversal.before}
    with transactions.outside_transaction():
        compared = compare_commits(branch_of(scope).source(), **versions, file=path, cursor=None, limit=FILES)
    files: Any = compared.to_dict(scope.project.id)["files"]
    return files, compared.total


@blueprint.post(f"{BASE}/undo/<sha>")
@Page(guard=MEMBER, inputs=("next",), shown_by="undo_question")
def undo(*, scope: ProjectScope, form: Form) -> Response:
    """Undo a change, or propose it. A second undo of a published set leads to the first."""
    try:
        taken: TakenBack = run(
            lambda scope: actions.take_back(branch_of(scope), scope.role, _reversal(scope)),
            scope.path,
            guard=MEMBER,
            outside=True,
        )
    except RevertExists as error:
        first = (error.result or {})["change_set_id"]
        return see_other(project_url(scope, f"/changes/{first}?done=taken-back-before"))
    return _lead(scope, taken, form.text("next") or project_url(scope, "/history"))


def _lead(scope: ProjectScope, taken: TakenBack, target: str) -> Response:
    """Lead back with an undo of the undo, or to the set that contains the changes."""
    if taken.change_set_id is None or taken.state == State.PUBLISHED:
        done = "unchanged" if taken.commit_sha is None else "undone" if taken.change_set_id is None else "taken-back"
        return lead_back(target, done, undo=taken.commit_sha)
    url = project_url(scope, f"/changes/{taken.change_set_id}")
    if taken.has_conflicts:
        return see_other(f"{url}/conflicts?done=undo-conflicts")
    return see_other(url if taken.state == State.PUBLISHING else f"{url}?done=proposed")

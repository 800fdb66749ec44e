"""Drafts of a user as one change: all of them as a proposal, or those of a visit on the site or in a change set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.draft_images import finish_draft
from app.console.editor.saving import plan_images
from app.console.files.destinations import (
    INPUTS,
    MESSAGE,
    REVIEW,
    SAVE_TO,
    TITLE,
    chosen_set,
    destination,
    is_proposal,
    save,
)
from app.console.files.page_source import branch_source, present_head, read_base, read_draft, read_schema_before_calls
from app.console.files.scope import BASE, MEMBER, EditorScope, find_set, in_set, set_url
from app.console.shell import frame
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.translation import gettext as _
from app.content.schema.model import ContentSchema
from app.core.errors import AppError, InvalidRequest
from app.core.limits import CommitLimits
from app.drivers.git.port import Action, FileChange
from app.models.change_set import ChangeSetState
from app.resources.change_set.service import MAX_TITLE
from app.resources.project_content.save_request import FileEdit
from app.resources.project_content.saving.commit_builder import SaveConflict
from app.resources.project_content.schema import schema_validation
from app.resources.project_draft.queries import drafts_on


@dataclass(frozen=True)
class PlannedDraft:
    """A draft that a commit can contain: its text, the edits of the page and of its images, and their ids."""

    path: str
    content: str
    files: Sequence[dict[str, Any]]
    image_ids: Sequence[str]


@blueprint.post(f"{BASE}/propose-drafts")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="project_home", names={"message": MESSAGE})
def propose_drafts(*, scope: ProjectScope, form: Form) -> Response:
    """Propose all drafts of the user as one commit. The next page names those that cannot be committed and stay."""
    if not is_proposal(form):
        raise InvalidRequest
    site, change_set = in_set(scope, None), chosen_set(scope, form)
    drafts = drafts_on(scope.project, by=scope.caller)
    to_set = in_set(scope, change_set) if change_set is not None else None
    head, schema = present_head(site), read_schema_before_calls(site)
    plans = list(_plans(site, to_set, [own.draft.file for own in drafts], head, schema))
    if not plans:
        raise InvalidRequest(_("No draft can be proposed. Open them to correct a value or to compare the versions."))
    titles = frame.current().titles([plan.path for plan in plans])
    title = form.text(TITLE).strip() or ", ".join(titles.values())
    with destination(scope, form, title[:MAX_TITLE]) as to:
        saved = _save(to, title, head, plans, merges=change_set is not None)
    for plan in saved:
        finish_draft(site, plan.path, plan.image_ids, content=plan.content)
    return see_other(set_url(to, f"done={_done(form, to)}{'&lists_drafts=1' if len(saved) < len(drafts) else ''}"))


def save_drafts(scope: ProjectScope, form: Form, paths: Sequence[str]) -> tuple[EditorScope, str | None]:
    """Save drafts of the user as one change where the form says, merged with changes since: all or none.

    Returns the scope in which they are saved, and the commit, or None if they change nothing.

    Raises:
        InvalidRequest: a draft has a value that the site does not accept, or an image without a free name.
        SaveConflict: a draft and the site changed the same text. The drafts stay.
    """
    site, change_set = in_set(scope, None), chosen_set(scope, form)
    to_set = in_set(scope, change_set) if change_set is not None else None
    head, schema = present_head(site), read_schema_before_calls(site)
    plans = list(_plans(site, to_set, paths, head, schema, follows=True))
    titles = frame.current().titles(paths)
    _require_all(site, paths, plans, titles)
    if not plans:
        return site, None
    title = form.text(TITLE).strip() or ", ".join(titles[plan.path] for plan in plans)
    with destination(scope, form, title[:MAX_TITLE]) as to:
        saved = save(to, title, head, *(file for plan in plans for file in plan.files), merges=True, shares=True)
    for plan in plans:
        finish_draft(site, plan.path, plan.image_ids, content=plan.content)
    return to, saved["commit_sha"]


def _require_all(
    site: EditorScope, paths: Sequence[str], plans: Sequence[PlannedDraft], titles: Mapping[str, str]
) -> None:
    """Require that each draft with a change is planned. Raises InvalidRequest."""
    for path in set(paths) - {plan.path for plan in plans}:
        draft = read_draft(site, path)
        if draft is not None and draft["content"].encode() != read_base(site, path, draft["base_blob_sha"]):
            message = _("A value of “%(title)s” cannot be saved. Correct it in the form.", title=titles[path])
            raise InvalidRequest(message)


def _plans(
    site: EditorScope,
    to: EditorScope | None,
    paths: Sequence[str],
    head: str,
    schema: ContentSchema,
    *,
    follows: bool = False,
) -> Iterator[PlannedDraft]:
    """Yield the drafts whose values the site accepts, and whose base is its present version or, with `follows`, any."""
    entries, taken = branch_source(site).repository.entries(head, list(paths)), set[str]()
    for path in paths:
        draft = read_draft(site, path)
        present = entries[path].sha if path in entries else None
        if draft is None or (draft["base_blob_sha"] != present and not follows):
            continue
        try:
            plan = _planned(site, to, path, draft, schema)
        except AppError:  # An image has no free name.
            continue
        own = {str(file["path"]) for file in plan.files} if plan is not None else set()
        if plan is None or not own.isdisjoint(taken) or len(taken) + len(own) > CommitLimits.files:
            continue
        taken |= own
        yield plan


def _planned(
    site: EditorScope, to: EditorScope | None, path: str, draft: dict[str, Any], schema: ContentSchema
) -> PlannedDraft | None:
    """Return the edits of a draft, or None if it changes nothing or has a value that the site does not accept."""
    base = draft["base_blob_sha"]
    before = read_base(site, path, base)
    images = plan_images(site, path, draft["content"].encode(), to=to)
    if images.data == before and base is not None:
        return None
    if not _faults(schema, path, images.data) <= (_faults(schema, path, before) if base is not None else set()):
        return None
    action = Action.UPDATE if base is not None else Action.CREATE
    page = {"path": path, "action": action, "content": images.data, "base_blob_sha": base}
    return PlannedDraft(path, draft["content"], [page, *images.files], images.ids)


def _faults(schema: ContentSchema, path: str, data: bytes) -> set[tuple[str, str]]:
    """Return the values of a page that the site does not accept. Those of the present version refuse no draft."""
    try:
        schema_validation.check(schema, [FileEdit(FileChange(path, Action.UPDATE, data))], prefix="")
    except InvalidRequest as error:
        return {(field.path, field.message) for field in error.fields}
    return set()


def _save(
    to: EditorScope, message: str, head: str, plans: Sequence[PlannedDraft], *, merges: bool
) -> Sequence[PlannedDraft]:
    """Commit drafts, without those that conflict with the destination. Return the committed ones."""
    try:
        save(to, message, head, *(file for plan in plans for file in plan.files), merges=merges)
    except SaveConflict as error:
        others = [plan for plan in plans if error.paths.isdisjoint(str(file["path"]) for file in plan.files)]
        if not others or len(others) == len(plans):
            raise
        return _save(to, message, head, others, merges=merges)
    return plans


def _done(form: Form, to: EditorScope) -> str:
    row = find_set(to, to.change_set.id) if to.change_set is not None and form.text(SAVE_TO) == REVIEW else None
    return "proposed" if row is not None and row.state == ChangeSetState.IN_REVIEW else "saved"

"""The page "Edit on the page": the site in a frame, the texts that source marks name, and the save of a visit."""

from dataclasses import dataclass
from typing import Annotated, Any

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.draft_proposal import save_drafts
from app.console.editor.editor_page import WITHOUT_RELOAD
from app.console.files.destinations import INPUTS, MESSAGE, proposals
from app.console.files.scope import BASE, MEMBER, edit_url, file_url, in_set, project_url
from app.console.shell import frame
from app.console.shell.field_labels import label_of
from app.console.shell.forms import Form
from app.console.shell.messages import notice
from app.console.shell.pages import Page, lead_back, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.json_pointer import keys_of, pointer_of
from app.content.marks import Position
from app.core.limits import CommitLimits
from app.http.actions import run
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.resources.project_content.saving.commit_builder import SaveConflict
from app.resources.project_content.tree.folder_listing import existing_files
from app.resources.project_draft.queries import drafts_on
from app.resources.project_preview.schemas import MarksQuery
from app.resources.sandbox import marking
from app.resources.source_marks.queries import MarkSource, find_positions

NO_MARK = -1
FILES = "file"
"""The field with the path of each page that the visit changed."""


@dataclass(frozen=True, kw_only=True)
class SiteQuery(RequestQuery):
    """The address in the site that the frame shows first, and the notice of a save."""

    at: Annotated[str, fields.String(load_default="", validate=Length(max=2_000))]
    done: Annotated[str, fields.String(load_default="", validate=Length(max=40))]


@dataclass(frozen=True, kw_only=True)
class FieldQuery(RequestQuery):
    """The path of a file, and a JSON pointer or names joined by dots."""

    file: Annotated[str, fields.String(required=True, validate=Length(1, 1_000))]
    field: Annotated[str, fields.String(required=True, validate=Length(1, 1_000))]


@blueprint.get(f"{BASE}/site")
@Page(guard=MEMBER, query=SiteQuery)
def site_editor(*, scope: ProjectScope, query: SiteQuery) -> Response:
    """Show the site in a frame, in which the user edits texts. The script of the page starts the preview."""
    return page(
        "project/site.html",
        at=query.at,
        drafts=frame.current().titles([own.draft.file for own in drafts_on(scope.project, by=scope.caller)]),
        proposals=proposals(in_set(scope, None), ""),
        reloads=scope.project.generator not in WITHOUT_RELOAD,
        notice=notice(query.done),
    )


@blueprint.get(f"{BASE}/site/marks")
@Page(guard=MEMBER, query=MarksQuery)
def site_marks(*, scope: ProjectScope, query: MarksQuery) -> Response:
    """Return the texts of marks as JSON, in the order of their numbers. Unknown numbers are left out."""
    positions = find_positions(scope.project.id, query.distinct)
    known = [positions[number] for number in query.distinct if number in positions]
    titles = frame.current().titles({position.path for position in known})
    return json_response({"marks": [_shown(scope, position, titles[position.path]) for position in known]}, 200)


@blueprint.get(f"{BASE}/site/field")
@Page(guard=MEMBER, query=FieldQuery)
def site_field(*, scope: ProjectScope, query: FieldQuery) -> Response:
    """Return the field of a file that attributes of the site name, as JSON like a mark. An unknown file has none."""
    path, pointer = query.file.removeprefix("./").removeprefix("/"), query.field
    drafts = {own.draft.file for own in drafts_on(scope.project, by=scope.caller)}
    if path not in drafts | existing_files(frame.current().index, [path]):
        return json_response({"marks": []}, 200)
    if not pointer.startswith("/"):
        pointer = pointer_of(pointer.split("."))
    source = MarkSource(NO_MARK, path, "", Position(pointer, None, (1, 1), "text"), None)
    return json_response({"marks": [_shown(scope, source, frame.current().titles([path])[path])]}, 200)


@blueprint.post(f"{BASE}/site/misplaced")
@Page(guard=MEMBER, inputs=("numbers",), shown_by="site_editor")
def misplaced_marks(*, scope: ProjectScope, form: Form) -> Response:
    """Leave marks out from the next start that a page has in an attribute, an address or a script."""
    numbers = MarksQuery.loaded({"numbers": form.text("numbers")}).distinct
    run(lambda scope: marking.leave_out(scope.project, numbers), scope.path, guard=MEMBER)
    return json_response({}, 200)


def _shown(scope: ProjectScope, mark: MarkSource, title: str) -> dict[str, Any]:
    """Return a position with the texts and addresses of its entry."""
    at = mark.position
    keys = [key for key in keys_of(at.pointer or "") if not key.isdecimal()]
    part = label_of(keys[-1]) if keys else _("Text")
    return {
        "number": mark.number,
        "path": mark.path,
        "blob_sha": mark.blob_sha,
        "pointer": at.pointer,
        "block": at.block,
        "part": part,
        "marks": mark.marks,
        "title": title,
        "list": frame.current().list_of(mark.path),
        "edit": edit_url(scope, mark.path),
        "text_url": file_url(scope, "preview-text", mark.path, "editable=true"),
    }


@blueprint.post(f"{BASE}/site")
@Page(guard=MEMBER, inputs=(FILES, f"{FILES}[]", *INPUTS), shown_by="site_editor", names={"message": MESSAGE})
def save_site(*, scope: ProjectScope, form: Form) -> Response:
    """Save the drafts of a visit as one change, all or none. A conflict leads to the comparison of the versions."""
    try:
        to, commit_sha = save_drafts(scope, form, list(dict.fromkeys(form.all(FILES)))[: CommitLimits.files])
    except SaveConflict as error:
        return see_other(file_url(scope, "conflict", min(error.paths)))
    if to.change_set is not None:
        return see_other(project_url(scope, f"/changes/{to.change_set.id}?done=saved"))
    return lead_back(project_url(scope, "/site"), "saved" if commit_sha else "unchanged", undo=commit_sha)

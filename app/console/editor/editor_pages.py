"""Pages of the editor: the file, saving, and drafts."""

from contextlib import suppress
from urllib.parse import urlencode

from flask import Response, request

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.draft_images import take_files
from app.console.editor.editor_page import EditorPage, EditorQuery, OpenEditor, editor_page, open_page
from app.console.editor.saving import leave_set, move_to_site, save_or_leave
from app.console.editor.set_review import (
    TEXT,
    answer_comment,
    is_answer,
    read_replies,
    read_review,
    send_replies,
)
from app.console.files.destinations import INPUTS, proposals
from app.console.files.field_lists import ACTION, apply_action
from app.console.files.page_source import (
    EDITOR_INPUTS,
    STORED,
    OpenFile,
    change_draft,
    delete_draft,
    edited,
    has_ended,
    open_after_set,
    open_edited,
    read_draft,
    read_schema,
    write_draft,
)
from app.console.files.scope import BASE, EDITOR, SET, EditorScope, edit_url, file_url, in_set, project_url, set_query
from app.console.shell.forms import Form
from app.console.shell.messages import notice
from app.console.shell.pages import Page, current_form, page_again, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.schema.model import ContentSchema
from app.core.errors import InvalidRequest, UnprocessableEntity
from app.core.limits import DraftLimits
from app.resources.project_draft import actions

MAX_IMAGES = DraftLimits.images
"""The files of one form, each of an image field."""


@blueprint.get(f"{BASE}/edit/<path:file>")
@Page(guard=EDITOR, query=EditorQuery, upstream=open_page)
def edit(*, scope: EditorScope, query: EditorQuery, prepared: OpenEditor) -> Response:
    """Show a file in the editor, with the draft of the user if there is one. The former path of a file leads to it."""
    if prepared.new_path is not None:
        query_of_file = urlencode({name: value for name, value in request.args.items() if name != SET})
        return see_other(edit_url(prepared.scope, prepared.new_path, query_of_file))
    if prepared.scope.branch != scope.branch and not current_form().was_sent():
        return move_to_site(scope)
    if prepared.file is None:
        return see_other(file_url(prepared.scope, "conflict", scope.path["file"]))
    return _shown(prepared.scope, editor_page(prepared, prepared.file, query), query)


def _shown(scope: EditorScope, editor: EditorPage, query: EditorQuery) -> Response:
    title = editor.title
    return page(
        "project/edit.html",
        editor=editor,
        file=editor.opened.path,
        input_labels={"body": _("Text"), **(editor.shown.input_labels if editor.shown is not None else {})},
        query=query,
        change_set=scope.change_set,
        set_query=set_query(scope),
        review=read_review(scope, editor.opened),
        proposals=proposals(scope, _("New page: %(title)s", title=title) if editor.opened.is_new else title),
        notice=_notice(scope),
    )


def _notice(scope: EditorScope) -> str | None:
    """Return the notice of a finished action. A save in a change set names it."""
    done = request.args.get("done")
    if scope.change_set is not None and done == "saved":
        return _("Saved in “%(title)s”", title=scope.change_set.title)
    return notice(done)


@blueprint.post(f"{BASE}/edit/<path:file>")
@Page(
    guard=EDITOR,
    query=EditorQuery,
    inputs=(*EDITOR_INPUTS, *INPUTS, f"{TEXT}*"),
    shown_by="edit",
    upstream=read_schema,
    max_files=MAX_IMAGES,
)
def save_file(*, scope: EditorScope, query: EditorQuery, form: Form, prepared: ContentSchema) -> Response:
    """Send the replies and save the file. If another user changed it since, store a draft and show both versions."""
    is_ended = has_ended(scope)
    if ACTION in form.values and not is_ended:
        return _change_list(scope, _opened(scope, form, prepared), form)
    replies = read_replies(form)
    if is_ended:
        send_replies(scope, form, replies)  # The page of the site has no inputs of replies.
        return leave_set(scope, form, lambda site: edited(site, form))
    opened = _opened(scope, form, prepared)
    data = _checked(scope, opened, form, prepared)
    send_replies(scope, form, replies)  # A refused reply after the commit would deny it.
    unchanged = "replied" if replies else "unchanged"
    return save_or_leave(
        scope, opened, data, form, lambda site: edited(site, form), mode=query.mode, unchanged=unchanged
    )


def _checked(scope: EditorScope, opened: OpenFile, form: Form, schema: ContentSchema) -> bytes:
    """Return the text of a form that the schema accepts. A refused text is stored as a draft. Raises as `edited`."""
    try:
        return edited(opened, form, schema)
    except InvalidRequest:
        if STORED not in form.values:
            with suppress(InvalidRequest, UnprocessableEntity):
                _store_draft(scope, opened, edited(opened, form))
        raise


def _opened(scope: EditorScope, form: Form, schema: ContentSchema) -> OpenFile:
    """Return the version from which a form started, after its uploaded files were stored."""
    opened = open_edited(scope, form)
    take_files(scope, form, schema, opened.path, (opened.page.values if opened.page is not None else None) or {})
    return opened


def _change_list(scope: EditorScope, opened: OpenFile, form: Form) -> Response:
    """Return the editor with the values of the form, after a button changed a list or answered a comment."""
    apply_action(form)
    if "body" in form.values:
        form.values["body"] = form.text("body").replace("\r\n", "\n")
    form.is_repeated, command = True, form.text(ACTION)
    with suppress(InvalidRequest, UnprocessableEntity):
        data = edited(opened, form)
        if not is_answer(command) or (STORED not in form.values and (data != opened.data or opened.is_new)):
            _store_draft(scope, opened, data)
    answer_comment(scope, form, command)
    return page_again("edit", dict(scope.path), form)


def _store_draft(scope: ProjectScope, opened: OpenFile, data: bytes) -> None:
    if data == opened.data and not opened.is_new:
        change_draft(scope, opened.path, actions.delete_text)  # The open form can name the images of the draft.
    else:
        write_draft(scope, opened.path, data, opened.blob_sha, base_sha=opened.base_sha)


@blueprint.post(f"{BASE}/draft/<path:file>")
@Page(guard=EDITOR, inputs=EDITOR_INPUTS)
def save_draft(*, scope: EditorScope, form: Form) -> Response:
    """Store the fields of the editor as a draft. Returns 204."""
    if has_ended(scope):
        _store_draft_of_ended(scope, form)
        return Response(status=204)
    opened = open_edited(scope, form)
    _store_draft(scope, opened, edited(opened, form))
    return Response(status=204)


def _store_draft_of_ended(scope: EditorScope, form: Form) -> None:
    """Store the text of a page whose change set has ended. The next load of the page moves it to the site."""
    opened = open_after_set(in_set(scope, None), form)
    stored = read_draft(scope, opened.path)
    base = stored["base_blob_sha"] if stored is not None else None
    write_draft(scope, opened.path, edited(opened, form), base if base == form.text("base_blob_sha") else None)


@blueprint.post(f"{BASE}/discard-draft/<path:file>")
@Page(guard=EDITOR, inputs=("next",), shown_by="edit")
def discard_draft(*, scope: EditorScope, form: Form) -> Response:
    """Delete the draft of a file."""
    delete_draft(scope, scope.path["file"])
    if form.text("next") == "project":
        return see_other(project_url(scope, "?done=draft-deleted"))
    return see_other(edit_url(scope, scope.path["file"], "done=draft-deleted"))

"""The editor: front matter as fields, text, saving, and drafts."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from flask import Response, request
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.draft_images import image_url, images_of, take_files
from app.console.editor.field import Field
from app.console.editor.form_fields import MAX_FIELDS
from app.console.editor.page_fields import PageFields, page_fields
from app.console.editor.relations import Relate, no_choices, read_choices
from app.console.editor.saving import leave_set, move_to_site, save_edit
from app.console.editor.suggestions import is_configured
from app.console.files.destinations import INPUTS, SetEnded, other_sets, proposals
from app.console.files.field_inputs import InputKind
from app.console.files.field_lists import ACTION, apply_action
from app.console.files.page_source import (
    EDITOR_INPUTS,
    OpenFile,
    change_draft,
    delete_draft,
    edited,
    has_ended,
    open_after_set,
    open_edited,
    open_new,
    open_present,
    read_draft,
    read_schema,
    sent_start,
    write_draft,
)
from app.console.files.scope import BASE, EDITOR, EditorScope, edit_url, file_url, in_set, project_url, set_query
from app.console.project.changes import ShownVersion, read_history
from app.console.project.media import usage_of
from app.console.project.preview import preview_state
from app.console.shell import frame
from app.console.shell.field_labels import label_of
from app.console.shell.forms import Form
from app.console.shell.messages import notice
from app.console.shell.pages import Page, current_form, page_again, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.data_text import ROOT, is_data, read_data
from app.content.filetypes import file_type
from app.content.image_types import is_image
from app.content.page_text import PageText, read_page
from app.content.schema.model import ContentSchema
from app.content.schema.validation import collection_of
from app.content.site_paths import path_in_site
from app.core.errors import InvalidRequest, NotFound, UnprocessableEntity
from app.core.limits import DraftLimits
from app.http.validation import Length, RequestQuery
from app.models.project import Generator
from app.resources.project_content.images import site_url
from app.resources.project_content.search.missing_links import missing_links
from app.resources.project_draft import actions


def with_path(address: str, path: str) -> str:
    """Return the address of a preview with the path of a page."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=path))


MARKDOWN = ("markdown", "mdx", "markdoc")
MDX_GENERATORS = (Generator.DOCUSAURUS, Generator.NEXTJS)
"""Generators that read `.md` as MDX. Its escapes are valid in Markdown, too."""

DATA_FOLDERS = frozenset(("_data", "_i18n", "content", "data", "i18n", "locales"))
"""Folders whose data files are shown as fields without a schema."""

PANELS = ("", "fields", "preview", "history", "assistant")
MAX_VERSIONS = 20
"""The versions that the side panel lists."""

MAX_IMAGES = DraftLimits.images
"""The files of one form, each of an image field."""

WITHOUT_RELOAD = (None, Generator.JEKYLL, Generator.STATIC)
"""Generators whose open pages do not follow changes. The panel of the preview loads these pages again."""


@dataclass(frozen=True, kw_only=True)
class EditorQuery(RequestQuery):
    """The mode of the editor, its side panel, and the change that was saved."""

    mode: Annotated[str, fields.String(load_default="rich", validate=validate.OneOf(["rich", "source"]))]
    panel: Annotated[str, fields.String(load_default="", validate=validate.OneOf(PANELS))]
    since: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    change: Annotated[str, fields.String(load_default="", validate=Length(max=64))]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Accept the earlier name of the panel of the assistant."""
        return data | {"panel": "assistant"} if data.get("panel") == "ai" else data


class _Opened(NamedTuple):
    """The file, or None if only the draft of a removed file exists, the schema, and the choices of relations.

    `scope` is the version that the page shows: the site, if the change set of the URL has ended.
    """

    scope: EditorScope
    file: OpenFile | None
    schema: ContentSchema
    relate: Relate


def _open(scope: EditorScope, query: EditorQuery) -> _Opened:
    """Read the file, the schema and the entries that relations can name."""
    path, form = scope.path["file"], current_form()
    opened: OpenFile | None
    if has_ended(scope):
        scope = in_set(scope, None)
    try:
        opened = open_present(scope, path)
    except NotFound:
        draft = read_draft(scope, path)
        if form.was_sent() and "start" in form.values:
            opened = open_new(scope, path, sent_start(form))
        elif draft is None:
            raise
        else:
            opened = open_new(scope, path, draft["content"]) if draft["base_blob_sha"] is None else None
    schema = read_schema(scope)
    text = opened.page if opened is not None else None
    collection = collection_of(schema, path, text.values) if text is not None else None
    if text is None or collection is None:
        return _Opened(scope, opened, schema, no_choices)
    return _Opened(scope, opened, schema, read_choices(scope, schema, collection.fields, text.values or {}))


@blueprint.get(f"{BASE}/edit/<path:file>")
@Page(guard=EDITOR, query=EditorQuery, upstream=_open)
def edit(*, scope: EditorScope, query: EditorQuery, prepared: _Opened) -> Response:
    """Show a file in the editor, with the draft of the user if there is one."""
    if prepared.scope.branch != scope.branch and not current_form().was_sent():
        return move_to_site(scope)
    scope, opened = prepared.scope, prepared.file
    path, draft = scope.path["file"], read_draft(scope, scope.path["file"])
    if opened is None:
        return see_other(file_url(scope, "conflict", path))
    text = opened.page
    has_conflict = draft is not None and (draft["base_blob_sha"] or "") != opened.blob_sha
    content = opened.data
    if draft is not None and not has_conflict and not current_form().was_sent():
        content = draft["content"].encode()
        text = read_page(path, content)
    has_form = text is not None and not opened.is_link and _has_form(prepared.schema, path)
    data = _data_values(path, content) if has_form else None
    if data is not None and query.mode == "rich":
        text = PageText(data, "")
    language, title = file_type(path).language, _title(text, path)
    shown = _shown(scope, prepared, text, data) if text is not None else None
    if data is not None and shown is not None and any(map(_needs_text, shown.fields)):
        data, text = None, read_page(path, content)
        shown = _shown(scope, prepared, text, None) if text is not None else None
    return page(
        "project/edit.html",
        file=path,
        opened=opened,
        text=text,
        shown=shown,
        input_labels=shown.input_labels if shown is not None else {},
        has_image=is_image(path),
        usage=usage_of(scope, path) if is_image(path) else None,
        image_url=site_url(scope.project, path, ""),
        has_ai=is_configured() and not (data is not None and query.mode == "rich"),
        is_data=data is not None,
        is_source_only=has_form and data is None,
        panel=_panel(scope, query.panel, opened, text),
        media_folders=[[folder.address, folder.path("")] for folder in shown.folders] if shown is not None else [],
        draft=draft,
        has_conflict=has_conflict,
        missing=_missing_links(scope, path, text, language),
        file_language=language,
        is_mdx=language == "mdx" or (language == "markdown" and scope.project.generator in MDX_GENERATORS),
        is_markdown=language in MARKDOWN,
        query=query,
        title=title,
        name=path.rpartition("/")[2],
        change_set=scope.change_set,
        set_query=set_query(scope),
        proposals=proposals(scope, _("New page: %(title)s", title=title) if opened.is_new else title),
        also=other_sets(scope, path),
        notice=_notice(scope),
    )


def _notice(scope: EditorScope) -> str | None:
    """Return the notice of a finished action. A save in a change set names it."""
    done = request.args.get("done")
    if scope.change_set is not None and done == "saved":
        return _("Saved in “%(title)s”", title=scope.change_set.title)
    return notice(done)


def _missing_links(scope: ProjectScope, path: str, text: PageText | None, language: str | None) -> list[str]:
    """Return the links of a page of Markdown that lead to no page of the branch."""
    if text is None or language not in MARKDOWN:
        return []
    return missing_links(scope.project, scope.index, path, text.body)


def _shown(scope: EditorScope, prepared: _Opened, text: PageText, data: Mapping[str, object] | None) -> PageFields:
    """Return the fields. A data file that is a list has the name of the file instead of a key."""
    path = scope.path["file"]
    base = prepared.file.values if prepared.file is not None else {}
    draft_images = {image.url: image_url(scope, path, image.url) for image in images_of(scope, path)}
    shown = page_fields(scope, prepared.schema, path, text, prepared.relate, base, draft_images)
    if data is None or list(data) != [ROOT]:
        return shown
    label = label_of(path.rpartition("/")[2].rpartition(".")[0])
    return replace(shown, fields=[replace(field, label=label) for field in shown.fields], can_add=False)


def _needs_text(field: Field) -> bool:
    """Return whether a value of a data file is edited in its text: it is too large, or an irregular list."""
    return field.is_too_large or (field.path == (ROOT,) and field.kind is InputKind.JSON)


def _has_form(schema: ContentSchema, path: str) -> bool:
    """Return whether a data file is shown as fields: one of the schema, or in a folder of data."""
    is_known = collection_of(schema, path) is not None or not DATA_FOLDERS.isdisjoint(path.split("/")[:-1])
    return is_data(path) and is_known


def _data_values(path: str, content: bytes) -> dict[str, object] | None:
    """Return the values of a data file, or None if it cannot be shown as fields."""
    values = read_data(path, content)
    return values if values is not None and len(values) <= MAX_FIELDS else None


def _title(text: PageText | None, path: str) -> str:
    """Return the title of a page, else the name of its file."""
    title = (text.values or {}).get("title") if text is not None else None
    return title if isinstance(title, str) and title else path.rpartition("/")[2]


def _panel(scope: EditorScope, name: str, opened: OpenFile, text: PageText | None) -> dict[str, object]:
    """Return the values of the side panel."""
    path = opened.path
    values = text.values if text is not None else None
    path_of_page = path_in_site(path, values or {}, _pages_root(scope, path))
    record, address = preview_state(scope) if name == "preview" else (None, None)
    shown = with_path(address, path_of_page) if address else None
    reloads = scope.project.generator not in WITHOUT_RELOAD
    versions = _versions(scope, path) if name == "history" and not opened.is_new else []
    return {
        "name": name,
        "path": path_of_page,
        "record": record,
        "address": shown,
        "reloads": reloads,
        "versions": versions,
    }


def _pages_root(scope: ProjectScope, path: str) -> str | None:
    """Return the folder of the pages. The addresses of Hugo have no language for the main language of a site."""
    root = scope.project.paths.get("content")
    collection = frame.current().collection if scope.project.generator == Generator.HUGO else None
    own = f"{(root or 'content').strip('/')}/{collection[0].main.language}" if collection is not None else ""
    return own if own and path.startswith(f"{own}/") else root


def _versions(scope: EditorScope, path: str) -> list[ShownVersion]:
    """Return the latest versions of a file."""
    ref = scope.branch if scope.change_set is not None else None
    return read_history(scope, path, ref=ref, limit=MAX_VERSIONS)[0]


@blueprint.post(f"{BASE}/edit/<path:file>")
@Page(
    guard=EDITOR,
    query=EditorQuery,
    inputs=(*EDITOR_INPUTS, *INPUTS),
    shown_by="edit",
    upstream=read_schema,
    max_files=MAX_IMAGES,
)
def save_file(*, scope: EditorScope, query: EditorQuery, form: Form, prepared: ContentSchema) -> Response:
    """Save the file. If another user changed it since, store the text as a draft and show both versions."""
    if has_ended(scope):
        return _leave(scope, form)
    opened = open_edited(scope, form)
    take_files(scope, form, prepared, opened.path, (opened.page.values if opened.page is not None else None) or {})
    if ACTION in form.values:
        return _change_list(scope, opened, form)
    data = edited(opened, form, prepared)
    try:
        return save_edit(scope, opened, data, form, mode=query.mode)
    except SetEnded:
        if scope.change_set is None:
            raise
        return _leave(scope, form)


def _leave(scope: EditorScope, form: Form) -> Response:
    """Continue with the form of an ended change set on the site."""
    opened = open_after_set(in_set(scope, None), form)
    return leave_set(scope, opened, edited(opened, form))


def _change_list(scope: ProjectScope, opened: OpenFile, form: Form) -> Response:
    """Return the editor with the values of the form, after a button added, moved or removed an item of a list."""
    apply_action(form)
    if "body" in form.values:
        form.values["body"] = form.text("body").replace("\r\n", "\n")
    form.is_repeated = True
    with suppress(InvalidRequest, UnprocessableEntity):
        _store_draft(scope, opened, edited(opened, form))
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

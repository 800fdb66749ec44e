"""The page and the dialog of a new entry: its collection, title and address, and new translations.

A new entry is a draft until the first save.
"""

import posixpath
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.page_fields import notations_of
from app.console.files import page_source
from app.console.files.field_inputs import moment_like
from app.console.files.scope import BASE, EDITOR, MEMBER, EditorScope, edit_url
from app.console.shell import frame
from app.console.shell.dates import user_zone
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other, wants_json
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.draft_state import is_draft
from app.content.entry_files import address_parts, copy_path, folder_of_index, own_addresses
from app.content.front_matter.editor import UnsupportedEdit
from app.content.image_types import is_image
from app.content.page_text import read_page, write_page
from app.content.schema.model import Collection, ContentSchema
from app.content.schema.new_entry import NewEntry, choices_for, folder_for, new_entry
from app.content.schema.validation import collection_of
from app.core import clock
from app.core.errors import Conflict, InvalidRequest, PayloadTooLarge, UnprocessableEntity
from app.core.limits import CommitLimits, DraftLimits
from app.database import transactions
from app.drivers.git.commit_plan import is_plain_file
from app.drivers.git.errors import TooLargeToRead
from app.drivers.git.port import TreeEntry
from app.extensions import drivers
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.models.project_content import DraftImage
from app.resources.project_content import entry_changes
from app.resources.project_content.entry_changes import require_visible
from app.resources.project_content.images import site_roots
from app.resources.project_content.schema.site_content import site_content, translation_path
from app.resources.project_content.source import Source
from app.resources.project_draft import actions, images
from app.resources.project_draft.schemas import SaveDraftBody

MAX_COPIES = 100
INPUTS = ("folder", "collection", "title", "name", "draft", "knows_drafts")


@dataclass(frozen=True, kw_only=True)
class NewEntryQuery(RequestQuery):
    """The folder of the entry, and the values of its form."""

    folder: Annotated[str, fields.String(load_default="", validate=Length(max=1024))]
    collection: Annotated[str | None, fields.String(load_default=None, validate=Length(max=200))]
    title: Annotated[str, fields.String(load_default="", validate=Length(max=200))]


@blueprint.get(f"{BASE}/new")
@blueprint.get(f"{BASE}/new/<path:name>", endpoint="new_entry_of")
@Page(guard=MEMBER, query=NewEntryQuery, upstream=page_source.read_schema)
def new_entry_form(*, scope: ProjectScope, query: NewEntryQuery, prepared: ContentSchema) -> Response:
    """Show the form of a new entry. A script of the page reads the path of the entry as JSON: `path`."""
    form = current_form()
    folder = (form.text("folder") or query.folder).strip("/")
    choices, name = choices_for(prepared, folder, scope.path.get("name")), scope.path.get("name", "")
    chosen = choices.chosen(form.text("collection") if form.was_sent() else query.collection)
    entry = _entry(scope, chosen, folder, query.title.strip())
    knows_drafts = is_draft(_values(entry), chosen.draft if chosen is not None else None)
    if wants_json():
        return json_response({"path": entry.path, "address": entry.address, "knowsDrafts": knows_drafts}, 200)
    values: dict[str, Any] = {"choices": choices, "chosen": chosen, "knows_drafts": knows_drafts, "path": entry.path}
    return page("project/new_entry.html", folder=folder, name=name, **values)


def _entry(
    scope: ProjectScope,
    collection: Collection | None,
    folder: str,
    title: str,
    *,
    name: str | None = None,
    is_draft: bool = True,
    notations: Mapping[str, str] = MappingProxyType({}),
) -> NewEntry:
    now, own_folder = clock.now().astimezone(user_zone()), folder_for(collection, folder)
    dates = {field: moment_like(example, now) for field, example in notations.items()}
    generator = scope.project.generator
    return new_entry(
        collection, own_folder, title=title, now=now, name=name, is_draft=is_draft, dates=dates, generator=generator
    )


def _values(entry: NewEntry) -> dict[str, object]:
    text = read_page(entry.path, entry.text.encode())
    return dict(text.values or {}) if text is not None else {}


@blueprint.post(f"{BASE}/new")
@blueprint.post(f"{BASE}/new/<path:name>", endpoint="create_entry_of")
@Page(guard=MEMBER, inputs=INPUTS, shown_by="new_entry_form", names={"file": "name"}, upstream=page_source.read_schema)
def create_entry(*, scope: ProjectScope, form: Form, prepared: ContentSchema) -> Response:
    """Store the new entry as a draft and lead to its editor. The first save adds the file to the branch."""
    title, name = form.text("title").strip(), form.text("name").strip().lstrip("/")
    if not title and not name:
        raise InvalidRequest.field("title", _("Enter a title or an address."))
    folder = form.text("folder").strip("/")
    collection = choices_for(prepared, folder, scope.path.get("name")).chosen(form.optional("collection"))
    is_draft = form.is_checked("draft") or not form.is_checked("knows_drafts")
    notations = notations_of(scope, collection) if collection is not None else {}
    entry = _entry(scope, collection, folder, title, name=name or None, is_draft=is_draft, notations=notations)
    _require_permitted(prepared, entry)
    _require_free(scope, entry.path)
    if not _create_draft(scope, entry):
        raise _taken(scope, entry.path)
    return see_other(edit_url(scope, entry.path))


def _require_free(scope: ProjectScope, path: str) -> None:
    """Refuse a path that exists, or at which the site would not show the page."""
    source, head = page_source.branch_source(scope), page_source.present_head(scope)
    present = page_source.present_path(source, head, path)
    if present is not None:
        raise _taken(scope, present)
    require_visible(source, head, path, scope.project.generator, field="name")


def _taken(scope: ProjectScope, path: str) -> InvalidRequest:
    name = path if frame.current().shows_paths else address_parts(path, scope.project.generator)[1]
    return InvalidRequest.field("name", _("“%(name)s” exists. Enter another address.", name=name))


def _require_permitted(schema: ContentSchema, entry: NewEntry) -> None:
    """Refuse a new file, or a copy of one, in a collection that permits none. Raises InvalidRequest."""
    collection = collection_of(schema, entry.path, _values(entry))
    if collection is not None and not collection.can_create:
        raise InvalidRequest(_("The configuration of the site does not permit new entries here."))


@blueprint.post(f"{BASE}/translate/<path:file>")
@Page(guard=EDITOR, inputs=("language",), shown_by="edit")
def start_translation(*, scope: ProjectScope, form: Form) -> Response:
    """Store a copy of the entry as a draft of its translation and lead to it. An existing translation does not change.

    Raises:
        NotFound: the collection of the entry does not have the language.
        UnprocessableEntity: the entry is not text.
    """
    content = site_content(scope.project, scope.index, hosts=drivers.git, by=scope.caller)
    path = translation_path(scope.index, content.groups, scope.path["file"], form.text("language"))
    opened, source = page_source.open_present(scope, scope.path["file"]), page_source.branch_source(scope)
    if not source.repository.entries(opened.base_sha, [path]):
        _copy(scope, opened, path)
    return see_other(edit_url(scope, path, "panel=translation"))


@blueprint.post(f"{BASE}/duplicate/<path:file>")
@Page(guard=EDITOR, inputs=(), shown_by="edit", upstream=page_source.read_schema)
def duplicate_entry(*, scope: EditorScope, form: Form, prepared: ContentSchema) -> Response:
    """Store a copy of the entry as a draft with another name, and lead to it. The first save adds it to the branch."""
    opened, source = page_source.open_present(scope, scope.path["file"]), page_source.branch_source(scope)
    _require_permitted(prepared, NewEntry(opened.path, opened.text))
    [entry] = entry_changes.read_entries(source, opened.base_sha, [opened.path], scope.project.generator)
    generator = scope.project.generator if entry.folder is not None else None
    paths = {copy_path(opened.path, number, generator): number for number in range(2, MAX_COPIES)}
    owners = {path: folder_of_index(path, generator) or path for path in paths}
    present = source.repository.entries(opened.base_sha, list(owners.values()))
    free = {path: number for path, number in paths.items() if owners[path] not in present}
    path = next((path for path in free if _copy(scope, opened, path, _text_of_copy(opened, free[path]))), None)
    if path is None:
        raise _taken(scope, opened.path)
    return see_other(edit_url(scope, path))


def _text_of_copy(opened: page_source.OpenFile, number: int) -> str:
    """Return the text of a page with other values of the fields that must be unique in a site."""
    text = opened.page
    changes = own_addresses((text.values if text is not None else None) or {}, number)
    if text is None or not changes:
        return opened.text
    try:
        return write_page(opened.path, opened.data, text.body, changes).decode("utf-8-sig")
    except UnsupportedEdit:
        return opened.text


def _copy(scope: ProjectScope, opened: page_source.OpenFile, path: str, text: str | None = None) -> bool:
    """Store a copy of an entry as a draft, with the files of its folder. `text` replaces its text.

    Of a folder that is not the entry, these are the images that the page names. Return False if the user has a draft
    of the path.

    Raises:
        PayloadTooLarge: a commit cannot contain the files.
    """
    source, old, new = page_source.branch_source(scope), *map(posixpath.dirname, (opened.path, path))
    files = _copied(scope, opened, path) if old not in ("", new) else {}
    if len(files) >= CommitLimits.files:
        raise PayloadTooLarge(entry_changes.TOO_MANY_FILES)
    if text is None and old != new and opened.page is not None:
        copies, paths = {own: posixpath.join(new, name) for own, name in files.items()}, (opened.path, path)
        with transactions.outside_transaction():
            data = entry_changes.translated_page(
                source, opened.base_sha, opened.data, paths, copies, scope.project.generator
            )
        text = replace(opened, data=data).text
    if not _create_draft(scope, NewEntry(path, opened.text if text is None else text)):
        return False
    entries = source.repository.entries(opened.base_sha, list(files)).values()
    blobs = {files[entry.path]: entry for entry in entries if is_plain_file(entry)}
    if source.commits_blobs:
        page_source.change_draft(scope, path, lambda key: images.add_blobs(key, new, blobs))
    else:
        _add_bytes(scope, source, path, blobs)
    return True


def _copied(scope: ProjectScope, opened: page_source.OpenFile, path: str) -> Mapping[str, str]:
    """Return the files that a copy of an entry at another path has, with their paths in its folder."""
    source, old, new = page_source.branch_source(scope), *map(posixpath.dirname, (opened.path, path))
    [entry] = entry_changes.read_entries(source, opened.base_sha, [opened.path], scope.project.generator)
    if entry.folder is not None:
        return entry.names_in(new, entry.copied)
    below = entry_changes.files_below(source, opened.base_sha, old)
    urls = {image: posixpath.relpath(image, old) for image in below if is_image(image)}
    copies = [DraftImage(path=f"{new}/{url}", url=url) for url in urls.values()]
    site = site_roots(scope.project, scope.index)
    named = {image.url for image in images.named_in(opened.data, path, copies, site)}
    return {image: url for image, url in urls.items() if url in named}


def _add_bytes(scope: ProjectScope, source: Source, path: str, blobs: Mapping[str, TreeEntry]) -> None:
    """Store the bytes of the files of a copy, for a host that needs them, within the limits of a draft."""
    folder = posixpath.dirname(path)
    for url, blob in blobs.items():
        below, name = posixpath.split(url)
        store = partial(
            images.add,
            names=[name],
            folder=posixpath.join(folder, below).rstrip("/"),
            address=f"{below}/" if below else "",
            unnamed=(),
            blob_sha=blob.sha,
        )
        # The editor marks images that the draft cannot contain as missing.
        with suppress(TooLargeToRead, PayloadTooLarge, UnprocessableEntity, Conflict):
            data = source.repository.blob(blob.sha, max_bytes=DraftLimits.image_bytes)
            page_source.change_draft(scope, path, partial(store, data=data))


def _create_draft(scope: ProjectScope, entry: NewEntry) -> bool:
    """Store the draft of an entry and return True, or False if the user has a draft of its file."""
    body = SaveDraftBody.loaded({"content": entry.text})
    try:
        page_source.change_draft(scope, entry.path, lambda key: actions.create_draft(key, body.content))
    except actions.DraftExists:
        return False
    return True

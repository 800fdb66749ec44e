"""Values of the editor: text and fields of a file, its draft, and the side panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.console.editor.field import Field
from app.console.editor.form_fields import MAX_FIELDS
from app.console.editor.page_fields import PageFields, page_fields
from app.console.editor.relations import Relate, no_choices, read_choices
from app.console.editor.suggestions import is_configured
from app.console.files.destinations import other_sets
from app.console.files.field_inputs import InputKind
from app.console.files.page_source import (
    OpenFile,
    branch_source,
    has_ended,
    open_edited,
    open_new,
    open_present,
    read_draft,
    read_schema,
    sent_start,
)
from app.console.files.scope import EditorScope, in_set
from app.console.files.simple_page import SimplePage
from app.console.project.changes import ShownVersion, read_history
from app.console.project.media import usage_of
from app.console.project.preview import page_without_site, preview_state, shown_simply
from app.console.shell import frame
from app.console.shell.field_labels import label_of, page_name
from app.console.shell.pages import current_form
from app.content.data_text import ROOT, is_data, read_data
from app.content.entry_files import EntryFiles
from app.content.filetypes import file_type
from app.content.image_types import is_image
from app.content.page_text import PageText, read_page
from app.content.schema.model import Collection, ContentSchema
from app.content.schema.validation import collection_of
from app.content.site_paths import path_in_site
from app.core.errors import NotFound
from app.drivers.git.object_ids import blob_sha
from app.http.validation import Length, RequestQuery
from app.models.project import MDX_GENERATORS, Generator
from app.resources.change_set.queries import NamedSet
from app.resources.project_content.entry_changes import read_entries
from app.resources.project_content.images import site_roots, site_url
from app.resources.project_content.schema.site_content import Translation
from app.resources.project_content.search.missing_links import missing_links
from app.resources.project_content.search.references import Backlink
from app.resources.project_content.versions.history import find_removal

MARKDOWN = ("markdown", "mdx", "markdoc")

DATA_FOLDERS = frozenset(("_data", "_i18n", "content", "data", "i18n", "locales"))
"""Folders whose data files are shown as fields without a schema."""

PANELS = ("", "fields", "preview", "translation", "history", "assistant")
MAX_VERSIONS = 20
"""The versions that the side panel lists."""

WITHOUT_RELOAD = (None, Generator.JEKYLL, Generator.STATIC)
"""Generators whose open pages do not follow changes. The panel of the preview loads these pages again."""


@dataclass(frozen=True, kw_only=True)
class EditorQuery(RequestQuery):
    """The mode of the editor, its side panel, and the change that was saved."""

    mode: Annotated[str, fields.String(load_default="rich", validate=validate.OneOf(["rich", "source"]))]
    panel: Annotated[str, fields.String(load_default="", validate=validate.OneOf(PANELS))]
    language: Annotated[str, fields.String(load_default="", validate=Length(max=20))]
    since: Annotated[str, fields.String(load_default="", validate=Length(max=64))]
    change: Annotated[str, fields.String(load_default="", validate=Length(max=64))]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Accept the earlier name of the panel of the assistant."""
        return data | {"panel": "assistant"} if data.get("panel") == "ai" else data


class OpenEditor(NamedTuple):
    """The file, or None if only the draft of a removed file exists, the schema, and the choices of relations.

    `scope` is the version that the page shows: the site, if the change set of the URL has ended. `entry` are the files
    that are moved and deleted with a page. `new_path` is the present path of a file that was renamed.
    """

    scope: EditorScope
    file: OpenFile | None
    schema: ContentSchema
    relate: Relate
    entry: EntryFiles
    new_path: str | None = None


def open_page(scope: EditorScope, query: EditorQuery) -> OpenEditor:
    """Read the file, the schema and the entries that relations can name."""
    path, form = scope.path["file"], current_form()
    opened, new_path = None, None
    if has_ended(scope):
        scope = in_set(scope, None)
    try:
        opened = open_present(scope, path)
    except NotFound:
        draft = read_draft(scope, path)
        if form.was_sent() and "start" in form.values:
            opened = open_new(scope, path, sent_start(form))
        elif form.was_sent():
            opened = open_edited(scope, form)  # The failed form of a file that was removed while it was open.
        elif draft is not None:
            opened = open_new(scope, path, draft["content"]) if draft["base_blob_sha"] is None else None
        else:
            new_path = find_removal(branch_source(scope), path).new_path
            if new_path is None:
                raise
    schema, entry = read_schema(scope), _read_entry(scope, path, opened)
    text = opened.page if opened is not None else None
    collection = collection_of(schema, path, text.values) if text is not None else None
    if text is None or collection is None:
        return OpenEditor(scope, opened, schema, no_choices, entry, new_path)
    return OpenEditor(scope, opened, schema, read_choices(scope, schema, collection.fields, text.values or {}), entry)


def _read_entry(scope: EditorScope, path: str, opened: OpenFile | None) -> EntryFiles:
    if opened is None or not opened.blob_sha:
        return EntryFiles(path, None, (path,))
    return read_entries(branch_source(scope), opened.base_sha, [path], scope.project.generator)[0]


class ShownTranslation(NamedTuple):
    """A page in another language, as a reader sees it. `page` is None until the panel shows it."""

    language: str
    path: str
    page: SimplePage | None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The side panel of the editor: the page in the preview, or without its site, and its latest versions.

    `languages` are the other languages in which the page exists, and `translation` is the page in one of them.
    """

    name: str
    languages: Sequence[str]
    translation: ShownTranslation | None
    path: str | None
    record: Mapping[str, Any] | None
    address: str | None
    simple: SimplePage | None
    reloads: bool
    versions: Sequence[ShownVersion]


@dataclass(frozen=True, kw_only=True)
class EditorPage:
    """A file in the editor.

    Attributes:
        entry: the files that are moved and deleted with the page.
        can_delete, can_duplicate: the configuration of the site permits it. A move is a deletion.
        text: the text of the draft, else of the file. None if the file is not text.
        shown: its fields, if it is text.
        is_form: it is shown as fields, its text is in another mode: a data file, or a page that has no text.
        is_source_only: a data file that is too large or too irregular for fields.
        version: the blob of the shown text.
        missing: the links that lead to no page of the branch.
        also: the other change sets that contain the file.
    """

    scope: EditorScope
    opened: OpenFile
    entry: EntryFiles
    can_delete: bool
    can_duplicate: bool
    title: str
    draft: Mapping[str, Any] | None
    has_conflict: bool
    text: PageText | None
    shown: PageFields | None
    is_form: bool
    is_source_only: bool
    version: str
    has_ai: bool
    panel: Panel
    missing: Sequence[str]
    also: Sequence[NamedSet]
    usage: Sequence[Backlink] | None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.opened.path.rpartition("/")[2]

    @property
    def language(self) -> str | None:
        """The language of the file, such as `markdown`."""
        return file_type(self.opened.path).language

    @property
    def is_markdown(self) -> bool:
        """True if the editor can show the text with its format."""
        return self.language in MARKDOWN

    @property
    def is_mdx(self) -> bool:
        """True if the generator reads the text as MDX."""
        generator = self.scope.project.generator
        return self.language == "mdx" or (self.language == "markdown" and generator in MDX_GENERATORS)

    @property
    def has_image(self) -> bool:
        """True if the file is an image."""
        return is_image(self.opened.path)

    @property
    def image_url(self) -> str:
        """The address of an image in the pages of the site."""
        return site_url(site_roots(self.scope.project, self.scope.index), self.opened.path, "")

    @property
    def media_folders(self) -> list[list[str]]:
        """The address and the path of each folder whose images have a known address in the page."""
        return [[folder.address, folder.path("")] for folder in self.shown.folders] if self.shown is not None else []


def editor_page(prepared: OpenEditor, opened: OpenFile, query: EditorQuery) -> EditorPage:
    """Return what the editor shows for a file, with the draft of the user if there is one."""
    scope, path = prepared.scope, opened.path
    draft, content, text = read_draft(scope, path), opened.data, opened.page
    has_conflict = draft is not None and (draft["base_blob_sha"] or "") != opened.blob_sha
    if draft is not None and not has_conflict and not current_form().was_sent():
        content = draft["content"].encode()
        text = read_page(path, content)
    has_form = text is not None and not opened.is_link and _has_form(prepared.schema, path)
    data = _data_values(path, content) if has_form else None
    if data is not None and query.mode == "rich":
        text = PageText(data, "")
    title = _title(text, path)
    collection = collection_of(prepared.schema, path, text.values if text is not None else None)
    is_form = data is not None or _is_without_text(prepared.schema, collection, text)
    shown = _shown(prepared, opened, text, data) if text is not None else None
    if data is not None and shown is not None and any(map(_needs_text, shown.fields)):
        is_form, data, text = False, None, read_page(path, content)
        shown = _shown(prepared, opened, text, None) if text is not None else None
    if shown is not None and is_form:
        shown = replace(shown, fields=sorted(shown.fields, key=lambda field: not field.is_image))
    return EditorPage(
        scope=scope,
        opened=opened,
        entry=prepared.entry,
        can_delete=collection is None or collection.can_delete,
        can_duplicate=text is not None and (collection is None or collection.can_create),
        title=title,
        draft=draft,
        has_conflict=has_conflict,
        text=text,
        shown=shown,
        is_form=is_form,
        is_source_only=has_form and data is None,
        version=blob_sha(content),
        has_ai=is_configured() and not (is_form and query.mode == "rich"),
        panel=_panel(scope, prepared.schema, query, opened, text),
        missing=_missing_links(scope, path, text),
        also=other_sets(scope, path),
        usage=usage_of(scope, path, prepared.schema) if is_image(path) else None,
    )


def _missing_links(scope: ProjectScope, path: str, text: PageText | None) -> list[str]:
    """Return the links of a page of Markdown that lead to no page of the branch."""
    if text is None or file_type(path).language not in MARKDOWN:
        return []
    return missing_links(scope.project, scope.index, path, text.body)


def _shown(prepared: OpenEditor, opened: OpenFile, text: PageText, data: Mapping[str, object] | None) -> PageFields:
    """Return the fields. A data file that is a list has the name of the file instead of a key."""
    scope, path = prepared.scope, opened.path
    shown = page_fields(scope, prepared.schema, path, text, prepared.relate, opened.values)
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


def _is_without_text(schema: ContentSchema, collection: Collection | None, text: PageText | None) -> bool:
    """Return whether a page is shown without its text: the schema declares none, or no entry has one."""
    if text is None or text.problem is not None or collection is None or collection.has_body:
        return False
    return schema.is_declared or not text.body.strip()


def _data_values(path: str, content: bytes) -> dict[str, object] | None:
    """Return the values of a data file, or None if it cannot be shown as fields."""
    values = read_data(path, content)
    return values if values is not None and len(values) <= MAX_FIELDS else None


def _title(text: PageText | None, path: str) -> str:
    """Return the label of a file that the schema describes by itself, else the title of a page or name of its file."""
    described = frame.current().described
    if described is not None:
        return described[1].label
    title = (text.values or {}).get("title") if text is not None else None
    return title if isinstance(title, str) and title else page_name(path)


def _panel(
    scope: EditorScope, schema: ContentSchema, query: EditorQuery, opened: OpenFile, text: PageText | None
) -> Panel:
    path, name = opened.path, query.panel
    others = [other for other in frame.current().translations if other.exists and other.path != path]
    values, root = (text.values if text is not None else None) or {}, _pages_root(scope, path)
    path_of_page = path_in_site(path, values, root, generator=scope.project.generator)
    record, address = preview_state(scope) if name == "preview" else (None, None)
    simple = shown_simply(scope, schema, path, record) if name == "preview" and not address else None
    return Panel(
        name=name,
        languages=[other.language for other in others],
        translation=_translation(scope, schema, others, query) if others else None,
        path=path_of_page,
        record=record,
        address=with_path(address, path_of_page) if address else None,
        simple=simple,
        reloads=scope.project.generator not in WITHOUT_RELOAD,
        versions=_versions(scope, path) if name == "history" and not opened.is_new else [],
    )


def _translation(
    scope: EditorScope, schema: ContentSchema, others: Sequence[Translation], query: EditorQuery
) -> ShownTranslation:
    """Return the page in the chosen language, else in the main language of its collection."""
    collection = frame.current().collection
    main = collection[0].main.language if collection is not None else ""
    other = max(others, key=lambda translation: (translation.language == query.language, translation.language == main))
    page = page_without_site(scope, schema, other.path) if query.panel == "translation" else None
    return ShownTranslation(other.language, other.path, page)


def with_path(address: str, path: str) -> str:
    """Return the address of a preview with the path of a page."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=path))


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

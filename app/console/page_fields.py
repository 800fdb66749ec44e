"""The fields of a page in the editor, with the schema of its collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.access.scope import Scope
from app.console.field_lists import keyed
from app.console.form_fields import Field, Suggest, declared_fields, fields_of, usual_fields
from app.console.images import find_files, site_url
from app.console.pages import current_form
from app.content.filetypes import file_type
from app.content.page_text import PageText
from app.content.schema.model import Collection, ContentSchema, SourceKind
from app.content.schema.validation import collection_of
from app.resources.project_content.entries import EntryQuery, entries
from app.resources.project_content.images import list_images

WITHOUT_BLOCK = ("markdown", "mdx", "markdoc")
"""Languages whose files may receive front matter if they have none."""

MAX_SUGGESTIONS = 200
_INDEX_NAMES = ("index", "_index")


@dataclass(frozen=True)
class PageFields:
    """The fields of a page, and the names of further fields of its collection."""

    fields: Sequence[Field]
    other_names: Sequence[str] = ()
    can_add: bool = False
    images: Mapping[str, str] = field(default_factory=dict)
    """The files of the repository by the addresses in image fields."""

    image_names: Sequence[str] = ()
    """The texts with which the page may name the images of the repository, if it has an image field."""


def page_fields(scope: Scope, schema: ContentSchema, path: str, text: PageText) -> PageFields:
    """Return the fields of a page. Without a collection they follow from its values."""
    if text.problem is not None:
        return PageFields(())
    can_add = text.values is not None or file_type(path).language in WITHOUT_BLOCK
    collection = collection_of(schema, path) if can_add else None
    form = current_form()
    values = keyed(text.values or {}, form, is_shown_again=True) if form.was_sent() else text.values or {}
    if collection is None:
        return PageFields(fields_of(values), can_add=can_add)
    is_inferred = schema.kind in (SourceKind.INFERRED, SourceKind.ARCHETYPES)
    build = usual_fields if is_inferred else declared_fields
    fields = build(collection, values, _suggestions(scope, schema))
    shown = {one.path[0] for one in fields}
    others = [one.name for one in collection.fields if one.name not in shown]
    sources = list(_image_sources(fields))
    images = list_images(scope.index, limit=MAX_SUGGESTIONS).images if sources else []
    names = [site_url(one.path, path) for one in images]
    return PageFields(fields, others, can_add, find_files(scope, filter(None, sources), path), names)


def _image_sources(fields: Iterable[Field]) -> Iterator[str]:
    for one in fields:
        if one.is_image:
            yield one.value if isinstance(one.value, str) else ""
        yield from _image_sources(one.children)


def _suggestions(scope: Scope, schema: ContentSchema) -> Suggest:
    collections = {collection.name: collection for collection in schema.collections}

    def suggest(name: str) -> Sequence[str]:
        collection = collections.get(name)
        return _slugs(scope, collection) if collection is not None else ()

    return suggest


def _slugs(scope: Scope, collection: Collection) -> list[str]:
    """Return the names of the entries of a collection without folder and ending."""
    query = EntryQuery(folder=collection.folder or None, fields=(), limit=MAX_SUGGESTIONS)
    listed = entries(scope.project, scope.index, query).entries
    start = len(collection.folder) + 1 if collection.folder else 0
    names = (entry["path"][start:].rpartition(".")[0] for entry in listed)
    slugs = (name.rpartition("/")[0] if name.rpartition("/")[2] in _INDEX_NAMES else name for name in names)
    return [slug for slug in slugs if slug]

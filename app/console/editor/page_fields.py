"""The fields of a page: those of its collection, with what other entries of the collection have."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.access.scope import ProjectScope
from app.console.editor.field import Field
from app.console.editor.form_fields import declared_fields, fields_of, rare_fields, usual_fields
from app.console.editor.relations import Relate, RelationChoices
from app.console.files.field_inputs import DATES, InputKind, is_date, is_moment, notation_of
from app.console.files.field_lists import INPUT, Path, name_of, with_ids
from app.console.files.field_values import shown_again
from app.console.files.scope import EditorScope
from app.console.files.simple_page import draft_images, image_urls
from app.console.shell.forms import Form
from app.console.shell.pages import current_form
from app.content.draft_state import DraftField, draft_field_of, is_draft
from app.content.filetypes import file_type
from app.content.page_text import PageText
from app.content.schema.model import Collection, ContentSchema, FieldType
from app.content.schema.validation import collection_of
from app.content.site_roots import MediaFolder
from app.resources.project_content.entries.entry_pages import EntryQuery, entries
from app.resources.project_content.images import (
    address_of,
    known_folders,
    site_roots,
)
from app.resources.project_content.search.references import list_images

WITHOUT_BLOCK = ("markdown", "mdx", "markdoc")
"""Languages whose files may receive front matter if they have none."""

MAX_SUGGESTIONS = 200
_DATES = (FieldType.DATE, FieldType.DATETIME)


@dataclass(frozen=True)
class PageFields:
    """The fields of a page without its title, the title, and the names of further fields of its collection."""

    fields: Sequence[Field]
    title: Field | None = None
    other_names: Sequence[str] = ()
    can_add: bool = False
    images: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The URLs of the images of the draft and of the repository by their addresses in image fields."""

    relations: Sequence[RelationChoices] = ()
    """The entries that the relations of the page can name."""

    image_names: Sequence[str] = ()
    """The texts with which the page may name the images of the repository, if it has an image field."""

    folders: Sequence[MediaFolder] = ()
    """The folders whose images have a known address in the page."""

    has_images: bool = False

    draft: DraftField | None = None
    is_draft: bool = False
    more: Sequence[Field] = ()
    """The fields without a value that some other entries have. They are collapsed."""

    @property
    def input_labels(self) -> dict[str, str]:
        """The labels of the inputs by their names, with those of the groups around them."""
        title = [self.title] if self.title is not None else []
        return dict(_labels([*title, *self.fields, *self.more], ""))

    @cached_property
    def marks_optional(self) -> bool:
        """Return whether most fields are required, so that the optional ones are marked."""
        title = [self.title] if self.title is not None else []
        known = [field.is_required for field in _marked([*title, *self.fields])]
        return 2 * sum(known) > len(known)

    @property
    def draft_input(self) -> str:
        """The name of the input of the draft state."""
        return INPUT + name_of((self.draft.name,)) if self.draft is not None else ""

    @property
    def draft_values(self) -> str:
        """The values of drafts as the input sends them, as a JSON list of texts."""
        return json.dumps([json.dumps(value) for value in self.draft.drafts]) if self.draft is not None else ""


def page_fields(
    scope: EditorScope,
    schema: ContentSchema,
    path: str,
    text: PageText,
    relate: Relate,
    base: Mapping[str, object],
) -> PageFields:
    """Return the fields of a page. Without a collection they follow from its values, `base` are those of the file."""
    if text.problem is not None:
        return PageFields((), images=draft_images(scope, path))
    can_add = text.values is not None or file_type(path).language in WITHOUT_BLOCK
    collection = collection_of(schema, path, text.values) if can_add else None
    site = site_roots(scope.project, scope.index)
    folders = known_folders(site, collection, path)
    form = current_form()
    own = text.values or {}
    values = shown_again(own, form) if form.was_sent() else with_ids(own, base)
    if collection is None:
        state = draft_field_of(values)
        return PageFields(
            *_split_title(fields_of(values)),
            can_add=can_add,
            images=draft_images(scope, path),
            folders=folders,
            draft=state,
            is_draft=is_draft(text.values or {}, state),
        )
    is_inferred = not schema.is_declared
    fields = usual_fields(collection, values) if is_inferred else declared_fields(collection, values, relate)
    fields = _with_values_of_site(scope, collection, fields)
    more = _with_values_of_site(scope, collection, rare_fields(collection, values) if is_inferred else [])
    shown = {field.path[0] for field in (*fields, *more)}
    others = [field.name for field in collection.fields if field.name not in shown]
    sources = list(_image_sources([*fields, *more], form))
    listed = list_images(scope.index, limit=MAX_SUGGESTIONS).images if sources else []
    relations = {relation.list_id: relation for relation in _relations(fields)}
    state = collection.draft_field(values)
    return PageFields(
        *_split_title(fields),
        others,
        can_add,
        images=image_urls(scope, collection, path, sources),
        relations=list(relations.values()),
        image_names=[address_of(site, image.path, path, folders) for image in listed],
        folders=folders,
        has_images=bool(sources),
        draft=state,
        is_draft=is_draft(text.values or {}, state),
        more=more,
    )


def _labels(fields: Iterable[Field], around: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the label of each field and of the fields inside. Entries of a list have numbers."""
    for field in fields:
        label = f"{around}{field.label}"
        yield field.name, label
        for number, child in enumerate(field.children if field.is_list else (), 1):
            yield from _labels(child.children, f"{around}{child.label or field.label} {number} › ")
        yield from _labels(() if field.is_list else field.children, f"{label} › ")


def _marked(fields: Iterable[Field]) -> Iterator[Field]:
    """Yield the fields that can be marked as required or optional, those of the first entry of a list."""
    for field in fields:
        if field.has_mark:
            yield field
        yield from _marked(field.children[:1] if field.is_list else field.children)


def _relations(fields: Iterable[Field]) -> Iterator[RelationChoices]:
    for field in fields:
        if field.relation is not None and field.kind is not InputKind.SELECT:
            yield field.relation
        yield from _relations(field.children)


def _with_values_of_site(scope: ProjectScope, collection: Collection, fields: Sequence[Field]) -> list[Field]:
    """Return the fields with what other entries of the collection have, frequent values first.

    Lists of texts have their values as suggestions, and dates without a value have their notation.
    """
    lists = [
        field
        for field in fields
        if field.kind is InputKind.LINES and not (field.suggestions or field.relation) and "." not in field.path[0]
    ]
    dates = [
        field for field in fields if field.kind in DATES and not (field.value or field.notation or "." in field.path[0])
    ]
    names = tuple(field.path[0] for field in (*lists, *dates))
    if not names:
        return list(fields)
    texts = _texts_by_name(scope, collection, names)
    known = dict[Path, Field]()
    for items in lists:
        frequent = tuple(text for text, _number in texts[items.path[0]].most_common(MAX_SUGGESTIONS))
        known[items.path] = replace(items, suggestions=frequent)
    for date in dates:
        known[date.path] = _with_notation(date, texts[date.path[0]])
    return [known.get(field.path, field) for field in fields]


def _texts_by_name(scope: ProjectScope, collection: Collection, names: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the texts in some fields of the first entries of a collection, with their numbers."""
    query = EntryQuery(folder=collection.folder or None, fields=tuple(names), limit=MAX_SUGGESTIONS)
    values = [entry["fields"] for entry in entries(scope.project, scope.index, query).entries]
    return {name: Counter(_texts_of(value[name] for value in values)) for name in names}


def _texts_of(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def notations_of(scope: ProjectScope, collection: Collection) -> dict[str, str]:
    """Return a date of each date field whose notation is the most frequent one, by the name of the field."""
    dates = [
        field
        for field in collection.fields
        if field.type in _DATES and field.date_format is None and "." not in field.name
    ]
    if not dates:
        return {}
    texts = _texts_by_name(scope, collection, [date.name for date in dates])
    examples = {date.name: _usual_date(texts[date.name], has_time=date.type is FieldType.DATETIME) for date in dates}
    return {name: example for name, example in examples.items() if example is not None}


def _with_notation(field: Field, texts: Mapping[str, int]) -> Field:
    """Return a date without a value with the notation that most other values have. A day remains a day."""
    example = _usual_date(texts, has_time=field.kind is InputKind.DATETIME)
    if example is None:
        return field
    return replace(field, kind=InputKind.DATE if is_date(example) else field.kind, notation=example)


def _usual_date(texts: Mapping[str, int], *, has_time: bool) -> str | None:
    """Return a date in the most frequent notation, or None without a date. `has_time`: it may have a time."""
    counts, examples = Counter[str](), dict[str, str]()
    for text, number in texts.items():
        if is_date(text) or (is_moment(text) and has_time):
            counts[notation_of(text)] += number
            examples.setdefault(notation_of(text), text)
    return examples[counts.most_common(1)[0][0]] if counts else None


def _split_title(fields: Sequence[Field]) -> tuple[list[Field], Field | None]:
    """Return the fields without the title, and the title."""
    title = next((field for field in fields if field.is_title), None)
    return [field for field in fields if field is not title], title


def _image_sources(fields: Iterable[Field], form: Form) -> Iterator[str]:
    """Yield the addresses in the image fields, an empty one for a field without a value."""
    for field in fields:
        if field.is_image:
            yield from field.shown_text(form).split("\n")
        yield from _image_sources(field.children, form)

"""Relations of the editor's form: the entries that can be chosen, and their search for scripts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated
from urllib.parse import urlencode

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.page_source import read_schema
from app.console.files.scope import BASE, MEMBER, project_url
from app.console.shell.pages import Page
from app.content.schema.model import ContentSchema, SchemaField
from app.content.schema.relations import RelationOption, relations_in, scalars_of
from app.core.errors import NotFound
from app.extensions import drivers
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.resources.project_content.schema.relation_entries import MAX_OPTIONS, Relation, RelationReader

MAX_RELATIONS = 30
"""Different relations of one page that have options."""


@dataclass(frozen=True)
class RelationChoices:
    """The entries that a relation can name: all of them, or the first ones and the URL of the search for others.

    `list_id` is the id of their element in the page.
    `stored` contains the options of stored values that are not among the first ones, None for those without an entry.
    """

    list_id: str
    options: tuple[RelationOption, ...] = ()
    search_url: str = ""
    stored: Mapping[object, RelationOption | None] = field(default_factory=dict)

    @property
    def by_text(self) -> dict[str, RelationOption]:
        """The options by the text of their value."""
        known = [*self.options, *(option for option in self.stored.values() if option is not None)]
        return {str(option.value): option for option in known}

    def without_entry(self, value: object) -> list[object]:
        """Return those of the values of a field that name no entry."""
        values = value if isinstance(value, list) else [value]
        own = [single for single in values if isinstance(single, str | int | float) and single != ""]
        if self.search_url:
            return [single for single in own if single in self.stored and self.stored[single] is None]
        known = {str(option.value) for option in self.options}
        return [single for single in own if str(single) not in known]


_Key = tuple[str, str | None, str | None]
Relate = Callable[[SchemaField], RelationChoices | None]
"""Returns the choices of a relation, or None if its collection does not exist."""


def no_choices(field: SchemaField) -> None:
    """Return the choices of a form without relations."""


def read_choices(
    scope: ProjectScope, schema: ContentSchema, listed: Sequence[SchemaField], values: Mapping[str, object]
) -> Relate:
    """Read the choices of the relations of some fields with their values. Calls the Git host for data files."""
    reader = RelationReader(scope.project, scope.index, drivers.git, scope.caller)
    stored, known = defaultdict[_Key, dict[object, None]](dict), dict[_Key, RelationChoices]()
    for relation, value in relations_in(listed, values):
        stored[_key(relation)] |= dict.fromkeys(scalars_of(value))
    for number, (key, own) in enumerate(islice(stored.items(), MAX_RELATIONS)):
        target = Relation.of(schema, *key)
        if target is not None:
            known[key] = replace(_choices(scope, reader, target, own), list_id=f"relation-{number}")
    return lambda field: known.get(_key(field))


def _key(field: SchemaField) -> _Key:
    return field.collection or "", field.value_field, field.title_field


def _choices(
    scope: ProjectScope, reader: RelationReader, target: Relation, stored: Iterable[object]
) -> RelationChoices:
    options = reader.options(target)
    if len(options) <= MAX_OPTIONS:
        return RelationChoices("", tuple(options))
    first = {option.value for option in options}
    others = reader.stored(target, [value for value in stored if value not in first])
    named = {"collection": target.collection.name, "value": target.value_field, "title": target.title_field}
    query = urlencode({name: value or "" for name, value in named.items()})
    return RelationChoices("", tuple(options[:MAX_OPTIONS]), project_url(scope, f"/relations?{query}"), others)


@dataclass(frozen=True, kw_only=True)
class RelationQuery(RequestQuery):
    """The collection of a relation, its stored field and that of titles, and the searched text."""

    collection: Annotated[str, fields.String(load_default="", validate=Length(max=500))]
    value: Annotated[str, fields.String(load_default="", validate=Length(max=500))]
    title: Annotated[str, fields.String(load_default="", validate=Length(max=500))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]


def _find(scope: ProjectScope, query: RelationQuery) -> list[RelationOption]:
    """Search the entries of a relation. Raises NotFound if its collection does not exist."""
    target = Relation.of(read_schema(scope), query.collection, query.value or None, query.title or None)
    if target is None:
        raise NotFound
    return RelationReader(scope.project, scope.index, drivers.git, scope.caller).find(target, query.q)


@blueprint.get(f"{BASE}/relations")
@Page(guard=MEMBER, query=RelationQuery, upstream=_find)
def find_entries(*, scope: ProjectScope, query: RelationQuery, prepared: list[RelationOption]) -> Response:
    """Return the entries that match a text as JSON: `options` with value and title."""
    options = [{"value": str(option.value), "title": option.title, "path": option.path} for option in prepared]
    return json_response({"options": options}, 200)

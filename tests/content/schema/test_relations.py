"""Options of relations: stored values and titles."""

from typing import Any

import pytest

from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.relations import TargetEntry, options_of, relations_in, scalars_of, slug_of

CITIES = [{"id": 7, "name": "Oslo"}, {"id": 8}, {"name": "without an id"}]


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("people/jane.md", "jane"),
        ("people/team/jane/index.md", "team/jane"),
        ("people/jane.de.md", "jane"),
        ("people/de/jane.md", "jane"),
        ("people/v1.2.md", "v1.2"),
        ("people/_index.md", ""),
    ],
)
def test_slug_is_the_path_without_ending_index_and_language(path: str, slug: str) -> None:
    assert slug_of(Collection("people", "people", "**/*.md", locales=("en", "de")), path) == slug


@pytest.mark.parametrize(
    ("value_field", "options"),
    [
        (None, [("team/jane", "Jane")]),
        ("{{slug}}", [("team/jane", "Jane")]),
        ("slug", [("own", "Jane")]),
        ("{{fields.slug}}", [("own", "Jane")]),
        ("path", [("people/team/jane.md", "Jane")]),
        ("{path}", [("people/team/jane.md", "Jane")]),
        ("title", [("Jane", "Jane")]),
        ("author.name", [("J. Doe", "Jane")]),
        ("id", [(3, "Jane")]),
        ("{{id}}-{{ author.name }}", [("3-J. Doe", "Jane")]),
        ("names.*", [("a", "a"), ("b", "b")]),
        ("cities.*.id", [(7, "Oslo"), (8, "8")]),
        ("{{cities.*.id}}", [(7, "Oslo"), (8, "8")]),
        ("filename", [("jane", "Jane")]),
        ("missing", []),
        ("missing.*", []),
        ("author", []),
    ],
)
def test_option_has_the_declared_value_and_a_title(value_field: str | None, options: list[tuple[Any, str]]) -> None:
    values = {"slug": "own", "id": 3, "author": {"name": "J. Doe"}, "names": ["a", "b", ""], "cities": CITIES}
    entry = TargetEntry("people/team/jane.md", "team/jane", "Jane", values)
    assert [(one.value, one.title) for one in options_of(entry, value_field)] == options


@pytest.mark.parametrize(
    ("value_field", "title_field", "titles"),
    [
        ("id", "author.name", ["J. Doe"]),
        ("id", "{{author.name}}, {{slug}}", ["J. Doe, team/jane"]),
        ("id", "{{missing}}", ["Jane"]),
        ("cities.*.id", "{{cities.*.name}} ({{cities.*.id}})", ["Oslo (7)", "(8)"]),
        ("names.*", "{{names.*}} of {{title}}", ["a of Jane", "b of Jane"]),
    ],
)
def test_option_has_the_declared_title(value_field: str, title_field: str, titles: list[str]) -> None:
    values = {"id": 3, "author": {"name": "J. Doe"}, "names": ["a", "b"], "cities": CITIES}
    entry = TargetEntry("people/team/jane.md", "team/jane", "Jane", values)
    assert [one.title for one in options_of(entry, value_field, title_field)] == titles


def test_relations_inside_of_objects_and_lists_are_found_with_their_values() -> None:
    author = SchemaField("author", FieldType.RELATION, collection="people")
    parts = SchemaField("parts", FieldType.LIST, item=SchemaField("", FieldType.OBJECT, fields=(author,)))
    tags = SchemaField("tags", FieldType.LIST, item=SchemaField("", FieldType.RELATION, collection="tags"))
    values = {"parts": [{"author": "ann"}, {}], "tags": ["sea", "sea", "", None]}
    found = list(relations_in([parts, tags], values))
    assert [(relation.collection, value) for relation, value in found] == [
        ("people", "ann"),
        ("people", None),
        ("tags", values["tags"]),
    ]
    assert scalars_of(values["tags"]) == ["sea"]

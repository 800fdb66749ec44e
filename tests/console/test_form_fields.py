"""Fields of the editor from a schema and from values."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from app.console.editor.field import Field
from app.console.editor.form_fields import MAX_FIELDS, declared_fields, fields_of, usual_fields
from app.console.editor.page_fields import PageFields
from app.console.editor.relations import RelationChoices
from app.console.files.field_inputs import InputKind
from app.content.schema.model import Collection, FieldType, SchemaField
from app.content.schema.relations import RelationOption

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def _request(app: Flask) -> Iterator[None]:
    """The labels of options are translated for the language of a request."""
    with app.test_request_context():
        yield


OPTIONS = tuple(RelationOption(number, f"Title {number}", f"{number}.md") for number in range(20))
CHOICES = {
    "few": RelationChoices("a", (RelationOption("jane", "Jane", "jane.md"), RelationOption("7", "Seven", "7.md"))),
    "many": RelationChoices("b", OPTIONS),
    "searched": RelationChoices("c", OPTIONS, "/search", {"x": None, "y": RelationOption("y", "Y", "y.md")}),
}


def field(kind: FieldType, value: Any, **more: Any) -> Field:
    """Return the field of one value of a declared schema."""
    collection = Collection("posts", "posts", "*.md", (SchemaField("x", kind, **more),))
    values = {} if value is None else {"x": value}
    [shown] = declared_fields(collection, values, lambda one: CHOICES.get(one.collection or ""))
    return shown


@pytest.mark.parametrize(
    ("kind", "value", "more", "shown"),
    [
        (FieldType.STRING, "a", {}, InputKind.TEXT),
        (FieldType.TEXT, "a", {}, InputKind.LONG),
        (FieldType.NUMBER, None, {}, InputKind.NUMBER),
        (FieldType.BOOLEAN, None, {}, InputKind.CHECKBOX),
        (FieldType.BOOLEAN, None, {"default": True}, InputKind.SELECT),
        (FieldType.BOOLEAN, False, {"default": True}, InputKind.CHECKBOX),
        (FieldType.DATE, None, {}, InputKind.DATE),
        (FieldType.DATE, "2026-05-27T10:00:00Z", {}, InputKind.DATETIME),
        (FieldType.DATETIME, "2026-05-27", {}, InputKind.DATE),
        (FieldType.LIST, None, {}, InputKind.LINES),
        (FieldType.LIST, [{"a": 1}], {}, InputKind.JSON),
        (FieldType.LIST, None, {"item": SchemaField("", FieldType.OBJECT)}, InputKind.JSON),
        (FieldType.LIST, ["a"], {"item": SchemaField("", FieldType.SELECT, options=("a", "b"))}, InputKind.CHOICES),
        (FieldType.SELECT, "a", {"options": ("a", "b")}, InputKind.SELECT),
        (FieldType.SELECT, ["a"], {"options": ("a", "b"), "multiple": True}, InputKind.CHOICES),
        (FieldType.RELATION, ["a"], {"collection": "posts", "multiple": True}, InputKind.LINES),
        (FieldType.OBJECT, {"a": 1}, {}, InputKind.JSON),
        (FieldType.MIXED, 1, {}, InputKind.NUMBER),
    ],
)
def test_input_follows_type_and_value(kind: FieldType, value: Any, more: dict[str, Any], shown: InputKind) -> None:
    result = field(kind, value, **more)
    assert (result.kind, result.is_unfit) == (shown, False)


@pytest.mark.parametrize(
    ("kind", "value", "more", "shown"),
    [
        (FieldType.NUMBER, "seven", {}, InputKind.TEXT),
        (FieldType.STRING, 7, {}, InputKind.NUMBER),
        (FieldType.DATE, "soon", {}, InputKind.TEXT),
        (FieldType.LIST, "one", {}, InputKind.TEXT),
        (FieldType.OBJECT, "one", {"fields": (SchemaField("a", FieldType.STRING),)}, InputKind.TEXT),
        (FieldType.SELECT, "c", {"options": ("a", "b")}, InputKind.SELECT),
        (FieldType.SELECT, ["c"], {"options": ("a", "b")}, InputKind.LINES),
        (FieldType.BOOLEAN, {"a": 1}, {}, InputKind.JSON),
    ],
)
def test_value_of_another_type_keeps_its_form(
    kind: FieldType, value: Any, more: dict[str, Any], shown: InputKind
) -> None:
    result = field(kind, value, **more)
    assert (result.kind, result.is_unfit) == (shown, True)


def test_option_is_shown_as_it_is_written_in_the_file() -> None:
    shown = field(FieldType.SELECT, "1", options=(1, 2))
    assert [(option.value, option.label) for option in shown.options] == [('"1"', "1"), ("2", "2")]
    assert shown.text == '"1"'
    assert not shown.is_unfit


@pytest.mark.parametrize(
    ("collection", "value", "kind", "without_entry"),
    [
        ("few", "jane", InputKind.SELECT, []),
        ("few", 7, InputKind.SELECT, []),
        ("few", "bob", InputKind.SELECT, ["bob"]),
        ("many", None, InputKind.NUMBER, []),
        ("many", "bob", InputKind.RELATION, ["bob"]),
        ("searched", "x", InputKind.RELATION, ["x"]),
        ("searched", "z", InputKind.RELATION, []),
        ("none", "x", InputKind.TEXT, []),
    ],
)
def test_relation_is_a_choice_of_few_entries_and_marks_a_value_without_an_entry(
    collection: str, value: Any, kind: InputKind, without_entry: list[Any]
) -> None:
    shown = field(FieldType.RELATION, value, collection=collection)
    assert (shown.kind, shown.without_entry, shown.is_unfit) == (kind, without_entry, False)
    if kind is InputKind.SELECT:
        assert shown.text in [one.value for one in shown.options]


def test_summary_of_a_group_contains_titles_of_entries() -> None:
    inner = (SchemaField("who", FieldType.RELATION, collection="searched"), SchemaField("role", FieldType.STRING))
    assert field(FieldType.OBJECT, {"who": "y", "role": "Text"}, fields=inner).summary == "Y · Text"


def test_list_of_relations_marks_values_without_an_entry() -> None:
    inner = SchemaField("", FieldType.RELATION, collection="searched")
    for more in ({"item": inner}, {"collection": "searched", "multiple": True}):
        shown = field(FieldType.LIST if "item" in more else FieldType.RELATION, ["x", "y", "z"], **more)
        assert (shown.kind, shown.without_entry, shown.stored_titles) == (InputKind.LINES, ["x"], {"y": "Y"})


def test_group_has_the_fields_of_the_object_and_its_other_values() -> None:
    inner = (
        SchemaField("a/b", FieldType.STRING),
        SchemaField("deep", FieldType.OBJECT, fields=(SchemaField("c", FieldType.NUMBER),)),
    )
    group = field(FieldType.OBJECT, {"other": 1}, fields=inner)
    assert group.kind is None
    assert [child.name for child in group.children] == ["fm.x/a~1b", "fm.x/deep", "fm.x/other"]
    assert group.children[1].children[0].kind_name == "kind.x/deep/c"


def test_field_has_the_hint_and_the_limits_of_the_schema() -> None:
    text = field(FieldType.STRING, "a", hint="Short", pattern_hint="Letters only", maximum=60)
    assert (text.hint, text.counted, text.limits, text.has_help) == ("Short Letters only", 60, "", True)
    assert field(FieldType.STRING, "a", minimum=10, maximum=60).limits == "Characters: ≥ 10"
    assert field(FieldType.NUMBER, 3, maximum=5).limits == "Allowed: ≤ 5"
    assert field(FieldType.LIST, ["a"], minimum=1, maximum=3).limits == "Entries: 1–3"
    assert not field(FieldType.STRING, "a").has_help


@pytest.mark.parametrize(
    ("date_format", "value", "shown", "text"),
    [
        ("dd/MM/yyyy", "12/03/2014", InputKind.DATE, "2014-03-12"),
        ("d. MMMM yyyy", "12. March 2014", InputKind.DATE, "2014-03-12"),
        ("MM/dd/yyyy h:mm a", "03/12/2014 5:07 PM", InputKind.DATETIME, "2014-03-12T17:07"),
        ("t", 1394618820, InputKind.DATETIME, "2014-03-12T10:07"),
        ("dd/MM/yyyy", "2014-03-12", InputKind.DATE, "2014-03-12"),
        ("dd/MM/yyyy", None, InputKind.DATE, ""),
        ("HH:mm", "10:07", InputKind.TEXT, "10:07"),
    ],
)
def test_date_in_a_format_of_the_schema_has_a_control(
    date_format: str, value: Any, shown: InputKind, text: str
) -> None:
    result = field(FieldType.DATETIME, value, date_format=date_format)
    assert (result.kind, result.text, result.is_unfit) == (shown, text, False)


@pytest.mark.parametrize(("required", "marks_optional"), [(3, True), (2, True), (1, False), (0, False)])
def test_rarer_kind_of_required_and_optional_fields_is_marked(required: int, *, marks_optional: bool) -> None:
    fields = [field(FieldType.STRING, "a", required=number < required, label="A") for number in range(3)]
    switch = field(FieldType.BOOLEAN, True, label="B")
    assert PageFields([*fields, switch]).marks_optional is marks_optional


def test_text_in_a_date_field_remains_a_text_with_a_note() -> None:
    shown = field(FieldType.DATE, "soon", date_format="dd/MM/yyyy")
    assert (shown.kind, shown.is_no_date) == (InputKind.TEXT, True)
    dates = SchemaField("x", FieldType.DATE, types=(FieldType.DATE, FieldType.STRING))
    [inferred] = usual_fields(Collection("posts", "posts", "*.md", (dates,)), {"x": "soon"})
    assert (inferred.kind, inferred.is_no_date, inferred.is_unfit) == (InputKind.TEXT, True, False)


BLOCKS = SchemaField(
    "",
    FieldType.OBJECT,
    variant_key="type",
    variants=(
        SchemaField("hero", FieldType.OBJECT, "Large title", fields=(SchemaField("title", FieldType.STRING),)),
        SchemaField("quote", FieldType.OBJECT, fields=(SchemaField("text", FieldType.TEXT, required=True),)),
    ),
)


def test_items_of_a_list_have_the_fields_of_their_variants() -> None:
    values = [{"type": "hero", "title": "A", "own": 1}, {"type": "quote"}, {"type": "map", "zoom": 3}]
    shown = field(FieldType.LIST, values, item=BLOCKS)
    assert [(one.value, one.label) for one in shown.variants] == [
        ("x/type/hero", "Large title"),
        ("x/type/quote", "Quote"),
    ]
    assert [(item.label, [child.path[-1] for child in item.children]) for item in shown.children] == [
        ("Large title", ["type", "title", "own"]),
        ("Quote", ["type", "text"]),
        ("", ["type", "zoom"]),
    ]
    assert [(item.children[0].is_key, item.children[0].is_unfit) for item in shown.children] == [
        (True, False),
        (True, False),
        (True, True),
    ]
    assert shown.children[0].summary == "A · 1"


def test_object_with_variants_lets_the_user_choose_its_kind() -> None:
    parts = {"variants": BLOCKS.variants, "variant_key": "type"}
    assert [child.path[-1] for child in field(FieldType.OBJECT, None, **parts).children] == ["type"]
    kind, text = field(FieldType.OBJECT, {"type": "quote"}, **parts).children
    assert [option.value for option in kind.options] == ["hero", "quote"]
    assert (text.path, text.is_required) == (("x", "text"), True)


def test_objects_without_a_schema_are_groups() -> None:
    [shown] = fields_of({"author": {"name": "Ada", "links": {"home": "/a"}}})
    assert (shown.is_group, shown.summary) == (True, "Ada")
    assert [child.name for child in shown.children[1].children] == ["fm.author/links/home"]


def test_fields_of_values_begin_with_the_title() -> None:
    assert [one.path for one in fields_of({"date": "2026", "title": "A"})] == [("title",), ("date",)]


def test_inferred_schema_adds_usual_fields_and_no_rules() -> None:
    collection = Collection(
        "posts",
        "posts",
        "*.md",
        (
            SchemaField("kind", FieldType.SELECT, required=True, options=("a", "b")),
            SchemaField("date", FieldType.DATE, required=True),
            SchemaField("rare", FieldType.STRING),
        ),
    )
    shown = usual_fields(collection, {"own": 1, "kind": "new"})
    assert [(one.path[0], one.kind, one.is_required) for one in shown] == [
        ("own", InputKind.NUMBER, False),
        ("kind", InputKind.TEXT, False),
        ("date", InputKind.DATE, False),
    ]
    assert shown[1].suggestions == ("a", "b")


def test_choice_has_each_spelling_of_an_option_in_the_file() -> None:
    shown = field(FieldType.SELECT, [1, "1", True, 2], multiple=True, options=("1", "2", "3"))
    assert [one.value for one in shown.options] == ['"1"', "2", '"3"', "1", "true"]
    assert (shown.chosen, shown.is_unfit) == (["1", '"1"', "true", "2"], True)
    assert not field(FieldType.SELECT, [1, "1"], multiple=True, options=("1", "2")).is_unfit


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("2026-05-27", InputKind.DATE, "2026-05-27"),
        ("2026-05-27 10:30:00 +02:00", InputKind.DATETIME, "2026-05-27T10:30:00"),
        ("2026-02-30", InputKind.TEXT, "2026-02-30"),
        ("2026", InputKind.TEXT, "2026"),
    ],
)
def test_date_without_a_schema_is_a_date(value: str, kind: InputKind, text: str) -> None:
    [shown, group] = fields_of({"x": value, "in": {"y": value}})
    assert [(one.kind, one.text) for one in (shown, *group.children)] == [(kind, text)] * 2


def test_missing_date_of_an_item_has_the_notation_of_the_other_items() -> None:
    [listed] = fields_of({"x": [{"at": "2026-05-27T10:30:00Z", "on": "2026-05-27"}, {"on": "soon"}, {"at": None}]})
    [_first, second, third] = [[(one.kind, one.notation) for one in item.children] for item in listed.children]
    assert second == [(InputKind.DATETIME, "2026-05-27T10:30:00Z"), (InputKind.TEXT, "")]
    assert third == [(InputKind.DATETIME, "2026-05-27T10:30:00Z"), (InputKind.TEXT, "")]


@pytest.mark.parametrize("values", [{"x": [{"a": n, "b": n} for n in range(200)]} | {str(n): n for n in range(299)}])
def test_list_with_more_inputs_than_a_form_may_have_is_closed(values: dict[str, Any]) -> None:
    shown = fields_of(values)
    assert (shown[0].path, shown[0].is_list, any(one.is_closed for one in shown[0].children)) == (("x",), True, False)
    assert len(shown) == MAX_FIELDS
    assert shown[50].kind == InputKind.NUMBER
    last = fields_of(dict(reversed(values.items())))[-1]
    assert (last.path, last.is_list, all(one.is_closed for one in last.children)) == (("x",), True, True)
    assert last.children[7].summary == "7 · 7"


@pytest.mark.parametrize("items", [[{str(key): 1 for key in range(1000)}], [{"a": 1}] * 1001])
def test_value_with_more_inputs_than_a_form_may_have_is_shown_as_json(items: list[Any]) -> None:
    [group] = fields_of({"x": {"a": items[0]}} if len(items) == 1 else {"x": items})
    assert (group.kind, group.children, group.is_too_large) == (InputKind.JSON, (), True)

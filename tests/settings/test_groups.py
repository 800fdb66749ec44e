"""Tests of the declarations in the annotations of setting groups."""

from dataclasses import dataclass
from typing import Annotated

from marshmallow import EXCLUDE, Schema

from app.settings.fields import number, text
from app.settings.groups import ReferenceSection, build_members, declarations_of, schema_of


@dataclass(frozen=True)
class Inner:
    days: Annotated[int, number("DAYS", "Days.", 3, 0, 9)]


@dataclass(frozen=True)
class Shared:
    key: str | None


@dataclass(frozen=True)
class Outer:
    name: Annotated[str | None, text("NAME", "Name."), ReferenceSection("First")]
    inner: Annotated[Inner, ReferenceSection("Second")]
    one: Annotated[Shared, {"key": text("ONE_KEY", "Key.", secret=True)}, ReferenceSection("Third")]
    two: Annotated[Shared, {"key": text("TWO_KEY", "Key.", secret=True)}, ReferenceSection("Third")]


class Base(Schema):
    class Meta:
        """The options of Marshmallow."""

        unknown = EXCLUDE


class TestDeclarations:
    def test_variables_have_the_dotted_name_and_the_section_of_their_setting(self) -> None:
        declared = [(name, field.attribute, field.metadata["section"]) for name, field in declarations_of(Outer)]
        assert declared == [
            ("NAME", "name", "First"),
            ("DAYS", "inner.days", "Second"),
            ("ONE_KEY", "one.key", "Third"),
            ("TWO_KEY", "two.key", "Third"),
        ]

    def test_loaded_variables_become_the_groups(self) -> None:
        data = schema_of(Outer, Base)().load({"DAYS": "4", "TWO_KEY": "k", "OTHER": "x"})
        assert Outer(**build_members(Outer, data)) == Outer(None, Inner(4), Shared(None), Shared("k"))

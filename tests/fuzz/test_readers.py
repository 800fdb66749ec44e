"""Readers of texts of repositories: no text takes more than a second of CPU time, and no error is unexpected.

`GALLEY_LONG=1` reads 10,000 texts with each reader. `GALLEY_SEED` selects others.
"""

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from app.content.field_values import ValueKind
from app.content.front_matter.yaml_tree import compose, items_of
from app.content.schema.inferred import FieldCounts, FolderFiles, collection_from
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField, SourceKind
from app.content.schema.patterns import is_pattern, matches
from app.content.schema.validation import validate
from app.resources.project_content.schema.schema_validation import values_of
from tests.fuzz.hostile_texts import READERS, hostile_text, reproductions
from tests.fuzz.stage import LONG, SEED

TEXTS = 10_000 if LONG else 40
CPU_LIMIT_S = 1

pytestmark = [pytest.mark.one_database]


class TooLong(BaseException):
    """A reader needs more CPU time than the limit."""


@contextmanager
def cpu_limit() -> Iterator[None]:
    """Raise TooLong in the block after a second of CPU time of this process."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fault_of(reader: Callable[[str], object], text: str) -> str | None:
    try:
        with cpu_limit():
            reader(text)
    except ValueError:
        return None
    except TooLong:
        return f"{text[:60]!r} of {len(text)} characters takes too long"
    return None


class TestReaders:
    @pytest.mark.parametrize(("name", "text"), list(reproductions()))
    def test_known_hostile_text_is_read_in_time(self, name: str, text: str) -> None:
        assert fault_of(READERS[name], text) is None

    @pytest.mark.parametrize("name", READERS)
    def test_generated_texts_are_read_in_time(self, name: str) -> None:
        dice = random.Random(f"{SEED} {name}")
        faults = [fault for _ in range(TEXTS) if (fault := fault_of(READERS[name], hostile_text(dice)))]
        print(f"{name}: {TEXTS} texts, {len(faults)} above {CPU_LIMIT_S} s")
        assert faults == []


class TestPatterns:
    @pytest.mark.parametrize(
        "pattern", ["*a*a*a*a*a*a*a*ab", "**/**/**/**/b", "**{a,aa,aaa}**{a,aa,aaa}**b", "*{a,aa}" * 8]
    )
    @pytest.mark.parametrize("path", ["a" * 240, "a/" * 120])
    def test_many_stars_are_compared_in_time(self, pattern: str, path: str) -> None:
        assert is_pattern(pattern)
        with cpu_limit():
            for _ in range(100):
                matches(Collection("a", "", pattern), path)

    @pytest.mark.parametrize(
        ("pattern", "path", "is_match"),
        [
            ("*a*a", "aba", True), ("*a*a", "ab/a", False), ("**/b", "b", True), ("**/b", "x/y/b", True), ("**/b", "x/yb", False),
            ("a/**", "a/b/c", True), ("**.md", "a/b.md", True), ("*{ab,a}*bc", "xabc", True), ("*{en,de}*", "a.de.md", True),
            ("a{", "a{", True), ("{,a}b", "b", True), ("a**/b", "a/b", False), ("*", "", True), ("a[b].md", "a[b].md", True),
        ],
    )  # fmt: skip
    def test_pattern_matches_whole_paths(self, pattern: str, path: str, is_match: bool) -> None:
        assert matches(Collection("a", "", pattern), path) is is_match

    def test_name_that_is_not_a_pattern_matches_itself_only(self) -> None:
        name = "*" * 9
        assert [matches(Collection("a", "", name), path) for path in (name, "a")] == [True, False]


class TestLargeValues:
    def test_many_items_are_compared_with_many_options_in_time(self) -> None:
        options = tuple(f"option {number}" for number in range(500))
        field = SchemaField("a", FieldType.SELECT, options=options, multiple=True)
        with cpu_limit():
            assert validate(_schema(field), _collection(field), {"a": [options[-1]] * 30_000}) == []

    def test_comparison_of_too_many_fields_ends_with_a_message(self) -> None:
        fields = tuple(SchemaField(f"a{number}", FieldType.STRING) for number in range(2_000))
        field = SchemaField("a", FieldType.LIST, item=SchemaField("", FieldType.OBJECT, fields=fields))
        with cpu_limit():
            [error] = validate(_schema(field), _collection(field), {"a": [{"b": 1}] * 20_000})
        assert "too many values" in error.template

    def test_many_nested_names_are_inferred_in_time(self) -> None:
        names = [f"a{one}.b{two}.c" for one in range(100) for two in range(100)]
        kinds = {name: {ValueKind.OBJECT: 1} for each in names for name in (each.partition(".")[0], each[:-2])}
        kinds |= {name: {ValueKind.STRING: 1} for name in names}
        files = FolderFiles("posts", 1, Counter(md=1))
        with cpu_limit():
            fields = collection_from(files, FieldCounts(kinds, {})).fields
        assert [len(fields), len(fields[0].fields), fields[0].fields[0].fields[0].name] == [100, 100, "c"]

    def test_large_data_file_is_not_compared_with_the_schema(self) -> None:
        with cpu_limit():
            message = values_of("data.toml", b"a.b.c.d.e.f = 1\n" * 100_000)
        assert isinstance(message, str)
        assert "larger than 256 KiB" in message

    def test_items_of_a_sequence_after_long_space_are_read_in_time(self) -> None:
        text = "a:\n" + " " * 30_000 + "\n- b\n"
        root = compose(text)
        assert root is not None
        with cpu_limit():
            assert len(items_of(text, root.children[1], len(text))) == 1


def _schema(field: SchemaField) -> ContentSchema:
    return ContentSchema(SourceKind.GALLEY, ".galley.yml", (_collection(field),))


def _collection(field: SchemaField) -> Collection:
    return Collection("a", "", "*.md", (field,))

"""Tests of the checks of JSON answers."""

from typing import Any

import pytest

from app.resources.ai import output_schemas

COMMIT = {"type": "feat", "scope": "tea", "subject": "add green tea.", "body": "It sells.\r\n\r\nBetter."}
PAGE = {
    "title": "Tea",
    "description": "All of tea.",
    "keywords": ["tea", " green  tea ", "tea"],
    "slug": "green-tea",
    "og": {"title": "Tea", "description": "Tea!"},
}


class TestSchemas:
    @pytest.mark.parametrize("shape", [output_schemas.COMMIT, output_schemas.METADATA, output_schemas.SEO_FIX])
    def test_schema_objects_are_closed_and_require_all_properties(self, shape: Any) -> None:
        def check(schema: Any) -> None:
            assert not {"minLength", "maxLength", "pattern", "format", "minItems"} & set(schema)
            if schema["type"] == "object":
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
                for inner in schema["properties"].values():
                    check(inner)
            if schema["type"] == "array":
                check(schema["items"])

        check(shape.schema)


class TestCommitMessage:
    def test_parts_are_cleaned_and_composed(self) -> None:
        result = output_schemas.commit_message(COMMIT)
        assert result["text"] == "feat(tea): add green tea\n\nIt sells.\n\nBetter."
        assert output_schemas.commit_message(COMMIT | {"scope": "", "body": ""})["text"] == "feat: add green tea"
        assert output_schemas.commit_message(COMMIT | {"scope": ""})["scope"] is None

    def test_first_line_above_72_characters_raises_value_error(self) -> None:
        room = 72 - len("feat(tea): ")
        assert len(output_schemas.commit_message(COMMIT | {"subject": "x" * room, "body": ""})["text"]) == 72
        with pytest.raises(ValueError, match="has 73 characters"):
            output_schemas.commit_message(COMMIT | {"subject": "x" * (room + 1)})

    @pytest.mark.parametrize(
        "change",
        [{"type": "feature"}, {"type": None}, {"scope": "a b"}, {"scope": None}, {"subject": ""}, {"subject": 7},
         {"body": None}, {"body": "Co-authored-by: X <x@y>"}, {"body": "a\nsigned-off-by: me"}],
    )  # fmt: skip
    def test_invalid_part_raises_value_error(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            output_schemas.commit_message(COMMIT | change)

    def test_line_break_in_the_subject_becomes_a_space(self) -> None:
        assert (
            output_schemas.commit_message(COMMIT | {"subject": "a\nCo-authored-by: b"})["subject"]
            == "a Co-authored-by: b"
        )


class TestPageMetadata:
    def test_valid_answer_is_returned_without_duplicate_keywords(self) -> None:
        assert output_schemas.page_metadata(PAGE) == PAGE | {"keywords": ["tea", "green tea"]}

    @pytest.mark.parametrize(
        "change",
        [{"title": "x" * 61}, {"description": "x" * 161}, {"slug": "A"}, {"slug": "a--b"}, {"slug": "a/b"}, {"slug": ""},
         {"keywords": []}, {"keywords": "tea"}, {"keywords": [7]}, {"keywords": [str(n) for n in range(21)]},
         {"og": None}, {"og": {"title": "x"}}, {"title": ["x"]}],
    )  # fmt: skip
    def test_invalid_field_raises_value_error(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            output_schemas.page_metadata(PAGE | change)


class TestFixedPage:
    def test_content_is_returned_with_its_white_space(self) -> None:
        check = output_schemas.fixed_page(["a", "b"])
        result = check({"content": "\n# T\n", "changes": [{"id": "a", "summary": " Did  it "}], "more": 1})
        assert result == {"content": "\n# T\n", "changes": [{"id": "a", "summary": "Did it"}]}

    @pytest.mark.parametrize(
        "answer",
        [{}, {"content": "x"}, {"content": " ", "changes": []}, {"content": "x", "changes": [1]},
         {"content": "x", "changes": [{"id": "c", "summary": "s"}]}, {"content": "x", "changes": [{"id": "a"}]},
         {"content": "x", "changes": [{"id": "a", "summary": "s"}] * 2}],
    )  # fmt: skip
    def test_invalid_answer_raises_value_error(self, answer: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            output_schemas.fixed_page(["a", "b"])(answer)

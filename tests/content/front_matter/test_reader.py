"""Tests of front matter in four dialects, and of similar texts without front matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.front_matter.reader import MAX_CHARACTERS, split_front_matter

FENCES = st.lists(
    st.sampled_from(["---", "+++", ";;;", "{", "}", "\n", "\r\n", "a: b", 'a = "b"', '"a": 1', "[", "*x", " "])
).map("".join)

PLAIN = [
    "", "Body", "---", "---\n", "---\nno end\n", "----\na: b\n----\n", "+++\nno end",
    "---\nJust words\n---\n", "---\n- a\n---\n", "{{ shortcode }}\n", "{ a",
    '{"a": 1}\n{"a": 2}\n', '{"a": 1} is an object.\n\nBody', '{"a"}\n\nBody', '{"a": 1\n\nBody', '{"a": 1}\nBody', "{}\n\nBody",
    '{"a": 1}, {"b": 2}\n\nBody', ' {"a": 1}\n\nBody', '{"a": b}\n\nBody', "{a: 1}\n\nBody",
]  # fmt: skip
FAULTY = [
    "---\na: b: c\n---\nBody", "---\n: [\n---\nBody", "+++\na = \n+++\nBody", ";;;\n{]\n;;;\nBody", "---\na: *x\n---\nBody",
    "+++\na = " + "[" * 10_000 + "\n+++\nBody", "---\na: " + "x" * MAX_CHARACTERS + "\n---\nBody",
    "---json\n" + '{"a":' * 10_000 + "\n---\nBody", "---\na: " + "[" * 50_000 + "\n---\nBody",
]  # fmt: skip


class TestDialects:
    @pytest.mark.parametrize(
        "text",
        [
            "---\ntitle: T\ntags: [a]\n---\nBody\n",
            "---\r\ntitle: T\r\ntags: [a]\r\n---\r\nBody\n",
            "---   \ntitle: T\ntags:\n- a\n---  \nBody\n",
            "---yaml\ntitle: T\ntags: [a]\n---\nBody\n",
            '---json\n{"title": "T", "tags": ["a"]}\n---\nBody\n',
            '---toml\ntitle = "T"\ntags = ["a"]\n---\nBody\n',
            '+++\ntitle = "T"\ntags = ["a"]\n+++\nBody\n',
            '+++\r\ntitle = "T"\r\ntags = ["a"]\r\n+++\r\nBody\n',
            ';;;\n"title": "T",\n"tags": ["a"]\n;;;\nBody\n',
            ';;;\n{"title": "T", "tags": ["a"]}\n;;;\nBody\n',
            '{\n"title": "T",\n"tags": ["a"]\n}\n\nBody\n',
            '{"title": "T", "tags": ["a"]}\n\nBody\n',
            '{ "title": "T",\r\n  "tags": ["a"] }\r\n\r\nBody\n',
        ],
    )
    def test_front_matter_of_each_dialect_has_values_and_body(self, text: str) -> None:
        assert split_front_matter(text) == ({"title": "T", "tags": ["a"]}, "Body\n", None)

    def test_json_on_one_line_without_a_body_is_read(self) -> None:
        for behind in ("", "\n", " \n \n"):
            assert split_front_matter('{"a": 1}' + behind).values == {"a": 1}

    def test_empty_front_matter_is_an_empty_mapping(self) -> None:
        assert split_front_matter("---\n---\nBody") == ({}, "Body", None)
        assert split_front_matter("---\n# only a comment\n---\nBody") == ({}, "Body", None)

    def test_toml_dates_are_iso(self) -> None:
        values = split_front_matter("+++\nday = 2024-01-02\nat = 2024-01-02T03:04:05Z\nclock = 03:04:00\n+++\n").values
        assert values == {"day": "2024-01-02", "at": "2024-01-02T03:04:05Z", "clock": "03:04:00"}

    @pytest.mark.parametrize("text", PLAIN)
    def test_text_without_front_matter_is_the_body(self, text: str) -> None:
        assert split_front_matter(text) == (None, text, None)


class TestFaults:
    @pytest.mark.parametrize("text", FAULTY)
    def test_faulty_front_matter_has_a_problem_and_no_values(self, text: str) -> None:
        values, body, problem = split_front_matter(text)
        assert (values, body) == (None, "Body")
        assert problem
        assert len(problem) < 300

    def test_unterminated_json_is_text_with_a_problem(self) -> None:
        values, body, problem = split_front_matter('{\n"a": 1')
        assert (values, body) == (None, '{\n"a": 1')
        assert problem

    @given(st.text() | FENCES)
    def test_any_text_has_values_or_none_and_its_body(self, text: str) -> None:
        values, body, _ = split_front_matter(text)
        assert values is None or isinstance(values, dict)
        assert text.endswith(body)

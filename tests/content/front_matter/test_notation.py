"""Tests of the notation of front matter: unread blocks, times, switches, numbers, and lines that an edit must not touch."""

from typing import Any

import pytest

from app.content.front_matter.editor import UnsupportedEdit, edit_front_matter
from app.content.front_matter.reader import split_front_matter
from app.content.front_matter.values import WrittenFloat


def changed_lines(text: str, changes: dict[str, Any], unset: tuple[str, ...] = ()) -> list[str]:
    """Return the lines that an edit replaces, removes (`-`) and adds (`+`), in their order."""
    before = text.split("\n")
    after = edit_front_matter("a.md", text.encode(), changes, unset).decode().split("\n")
    return [f"-{line}" for line in before if line not in after] + [f"+{line}" for line in after if line not in before]


TIMES = """---
title: Times
utc: 2024-10-31T20:57:00.000Z
jekyll: 2024-10-31 20:57:00 -0500
short: 2024-12-09T21:25
day: 2024-03-15
quoted: '2024-10-31T20:57:00+09:00'
list: [2024-01-01, 2024-01-02]
---
Text
"""
TOML = """+++
title = "Old" # keep
utc = 2024-10-31T20:57:00Z
spaced = 2024-10-31 20:57:00.500-05:00 # zone
day = 2024-03-15
clock = 07:30:00
n = 1.10
text = "2024-03-15"
many = [2024-01-01, 2024-01-02]
[params]
  a.b = 1
  "x y" = 2   # c
[other]
c = 1
[params.sub]
d = [1,
  2] # e
+++
Text
"""


class TestUnreadBlocks:
    @pytest.mark.parametrize(
        "text",
        [
            "---\ntitle: Harbour days\nslug: harbour-days\n\nThe tide turns at noon.\n",
            "---\n# comment\n\ntitle: x\n",
            "+++\ntitle = 'x'\nText\n",
            ';;;\n"title": "x"\n',
            "\n---\ntitle: x\n",
            "---\r\ntitle: x\r\n",
            "---\rtitle: x\r---\rText",
            "<!-- comment -->\n---\ntitle: x\n---\n",
            " ---\ntitle: x\n---\nText\n",
            "   +++\ntitle = 'x'\n +++\n",
            "--- yml\ntitle: x\n---\n",
            "---toml\ntitle = 1\n",
            '{\n"title": "x"\n',
        ],
    )
    def test_block_that_is_not_read_has_a_problem_and_no_second_block(self, text: str) -> None:
        values, _, problem = split_front_matter(text)
        assert values is None
        assert problem is not None
        with pytest.raises(UnsupportedEdit):
            edit_front_matter("a.md", text.encode(), {"title": "new"})

    @pytest.mark.parametrize(
        "text",
        [
            "---\ntitle: x\n...\nText\n",
            "\n\n---\ntitle: x\n---\nText\n",
            "  \r\n---\r\ntitle: x\r\n---\r\nText\n",
            "\ufeff---\ntitle: x\n---\nText\n",
            "\ufeff\ufeff\n---\ntitle: x\n---\nText\n",
            '\n+++\ntitle = "x"\n+++\nText\n',
            '\n{"title": "x"}\n\nText\n',
        ],
    )
    def test_block_after_empty_lines_or_with_another_end_is_edited_in_its_lines(self, text: str) -> None:
        edited = edit_front_matter("a.md", text.encode(), {"title": "z"}).decode()
        assert edited == text.replace('"x"', '"z"').replace(": x", ": z")

    @pytest.mark.parametrize("text", ["---\n\nA rule above.\n", "---\n- item\n", "     ---\n     title: x\n", "Text\n"])
    def test_text_that_is_no_front_matter_receives_a_block(self, text: str) -> None:
        assert split_front_matter(text) == (None, text, None)
        assert edit_front_matter("a.md", text.encode(), {"a": 1}).decode() == f"---\na: 1\n---\n\n{text}"


class TestTimes:
    @pytest.mark.parametrize(
        ("key", "new"),
        [
            ("utc", "2024-11-01T20:57:00.000Z"),
            ("jekyll", "2024-11-01 20:57:00 -0500"),
            ("short", "2024-12-10T21:25"),
            ("day", "2024-03-16"),
            ("utc", "2024-11-01"),
        ],
    )
    def test_yaml_time_is_written_as_it_was_sent(self, key: str, new: str) -> None:
        values = split_front_matter(TIMES).values or {}
        assert changed_lines(TIMES, {key: values[key]}) == []
        assert changed_lines(TIMES, {key: new}) == [f"-{key}: {values[key]}", f"+{key}: {new}"]

    def test_quoted_time_and_new_time(self) -> None:
        assert (
            changed_lines(TIMES, {"quoted": "2024-11-01T20:57:00+09:00"})[1] == "+quoted: '2024-11-01T20:57:00+09:00'"
        )
        assert changed_lines(TIMES, {"date": "2024-11-01T20:57:00Z"}) == ["+date: 2024-11-01T20:57:00Z"]
        assert changed_lines(TIMES, {"list": ["2024-01-01", "2024-01-03"]})[1] == "+list: [2024-01-01, 2024-01-03]"

    @pytest.mark.parametrize(
        ("key", "new", "line"),
        [
            ("utc", "2024-11-01T20:57:00Z", "utc = 2024-11-01T20:57:00Z"),
            ("spaced", "2024-11-01 20:57:00.500-05:00", "spaced = 2024-11-01 20:57:00.500-05:00 # zone"),
            ("day", "2024-03-16", "day = 2024-03-16"),
            ("clock", "07:31:00", "clock = 07:31:00"),
            ("utc", "2024-11-01T20:57", "utc = 2024-11-01T20:57:00"),
            ("text", "2024-03-16", 'text = "2024-03-16"'),
            ("many", ["2024-01-01", "2024-02-02"], "many = [2024-01-01, 2024-02-02]"),
        ],
    )
    def test_toml_time_keeps_its_type_and_notation(self, key: str, new: Any, line: str) -> None:
        values = split_front_matter(TOML).values or {}
        assert changed_lines(TOML, {key: values[key]}) == []
        assert changed_lines(TOML, {key: new})[1:] == [f"+{line}"]


class TestScalars:
    @pytest.mark.parametrize(
        ("old", "new", "written"),
        [
            ("yes", "no", "no"), ("on", "off", "off"), ("No", "Yes", "Yes"), ("yes", "maybe", "maybe"), ("plain", "no", '"no"'),
            ("'yes'", "no", "'no'"), ("02134", "02135", "02135"), ("007", "008", "008"), ("02134", "2134", '"2134"'),
            ("1_000", "2_000", "2_000"), ("12:30", "12:45", "12:45"), ("text", "02135", '"02135"'), ("yes", False, "false"),
            ("1", "1_000", '"1_000"'), ("1", "0b1", '"0b1"'), ("3", ".inf", '".inf"'), ("2.5", "1e3", '"1e3"'),
            ("0.15.1", "02134", '"02134"'), ("1.2.3", "1.2.4", "1.2.4"), ("02134", "1.2.3", '"1.2.3"'),
            ("5", 1e20, "1.0e+20"), ("text", -1e16, "-1.0e+16"), ("5", 1.5e-7, "1.5e-07"),
            ("1.10", WrittenFloat("1.20"), "1.20"), ("1.10", WrittenFloat("1.1"), "1.1"), ("1.0", WrittenFloat("2.0"), "2.0"),
        ],
    )  # fmt: skip
    def test_new_value_has_the_form_of_the_old_one(self, old: str, new: Any, written: str) -> None:
        text = f"---\na: 1\nk: {old} # c\nz: 02\n---\n"
        assert changed_lines(text, {"k": new}) == [f"-k: {old} # c", f"+k: {written} # c"]

    @pytest.mark.parametrize("old", ["02134", "1.10", "yes", "{}", "[]", "~", "0x1F", "1e3", "'a'", "|-\n  b"])
    def test_value_that_is_sent_unchanged_is_not_touched(self, old: str) -> None:
        text = f"---\nk: {old}\nl:\n  - {{}}\n  - name: A\n    url:\n---\n"
        values = split_front_matter(text).values or {}
        assert edit_front_matter("a.md", text.encode(), values).decode() == text

    def test_toml_number_keeps_its_zeros(self) -> None:
        assert changed_lines(TOML, {"n": WrittenFloat("1.20")}) == ["-n = 1.10", "+n = 1.20"]
        assert changed_lines(TOML, {"n": 1.1}) == []


class TestBlockScalars:
    """Texts in lines of their own (`>-`, `|`): the style, the chomping and the lines of what is the same."""

    @pytest.mark.parametrize(
        ("old", "new", "written"),
        [
            (">-\n  one two\n  three four", "one two three five", ">-\n  one two\n  three five"),
            (">-\n  one two\n  three four", "one 2 three four", ">-\n  one 2\n  three four"),
            (">\n  one two\n  three\n\n  end", "one two 3\nend\n", ">\n  one two\n  3\n\n  end"),
            (">-\n  one\n\n  two\n  three", "one\nnew\ntwo three", ">-\n  one\n\n  new\n\n  two\n  three"),
            (">-\n  one\n  two", "one\n\n\ntwo", ">-\n  one\n\n\n\n  two"),
            (">\n  one two", "one", ">-\n  one"),
            (">+\n  one two\n", "one three\n\n", ">+\n  one three\n"),
            ("|\n  one\n  two", "one\n", "|\n  one"),
            ("|-\n  one\n\n  two", "one\n\nthree", "|-\n  one\n\n  three"),
            ("|-\n  a\n  \n  b\n \n  c", "A\n\nb\n\nC", "|-\n  A\n  \n  b\n \n  C"),
            (">-\n  a\n  b\n  \n  c", "A b\nc", ">-\n  A\n  b\n  \n  c"),
            (">- # note\n      港口 是\n      地方", "港口 是 好地方", ">- # note\n      港口 是\n      好地方"),
            (">-\n  one", " one", '" one"'),
            (">-\n  one", "", '""'),
        ],
    )
    def test_new_text_has_the_style_of_the_old_one(self, old: str, new: str, written: str) -> None:
        for newline in ("\n", "\r\n"):
            before, after = (f"---\na: {value}\nb: 1\n---\nText\n".replace("\n", newline) for value in (old, written))
            assert edit_front_matter("a.md", before.encode(), {"a": new}).decode() == after
            assert edit_front_matter("a.md", before.encode(), {"b": 1}).decode() == before

    def test_text_of_an_item_and_of_a_nested_key_keeps_its_style(self) -> None:
        text = "---\nlist:\n  - >-\n    one\n    two\n  - x\nmap:\n  key: |-\n      one\n      two\n---\n"
        changed = edit_front_matter("a.md", text.encode(), {"list": ["one 2", "x"], "map": {"key": "one\n2"}})
        assert changed.decode() == text.replace("two", "2")


class TestOtherLines:
    @pytest.mark.parametrize(
        ("changes", "lines"),
        [
            ({"title": "New"}, ['-title = "Old" # keep', '+title = "New" # keep']),
            ({"other": {"c": 2}}, ["-c = 1", "+c = 2"]),
            ({"new": "v"}, ['+new = "v"']),
            ({"new": {"a": [1]}}, ["+new = { a = [1] }"]),
        ],
    )
    def test_dotted_keys_and_tables_out_of_order_keep_their_lines(
        self, changes: dict[str, Any], lines: list[str]
    ) -> None:
        assert changed_lines(TOML, changes) == lines

    def test_change_inside_tables_out_of_order_is_refused(self) -> None:
        params = (split_front_matter(TOML).values or {})["params"]
        with pytest.raises(UnsupportedEdit):
            edit_front_matter("a.md", TOML.encode(), {"params": params | {"x y": 3}})

    def test_dotted_key_of_a_table_is_changed_in_its_line(self) -> None:
        text = "+++\n[params]\na.b = 1\nc = 2\n+++\n"
        assert changed_lines(text, {"params": {"a": {"b": 2}, "c": 2}}) == ["-a.b = 1", "+a.b = 2"]

    @pytest.mark.parametrize("fences", [("---", "---"), ("---", "...")])
    def test_empty_line_before_the_end_stays(self, fences: tuple[str, str]) -> None:
        text = f"{fences[0]}\ntitle: Book\nstatus: Finished\n\n{fences[1]}\n\nNotes\n"
        expected = text.replace("Finished", "Open")
        assert edit_front_matter("a.md", text.encode(), {"status": "Open"}).decode() == expected

    @pytest.mark.parametrize(
        "line",
        [
            "note: Photo by [Ann Example](https://photos.example/@ann) through [Photos](https://photos.example/) and words to column 120",
            "note: 'It''s a long text in single quotes that continues beyond column one hundred, with # and : and more words at its end'",
            'note: "A long text in double quotes \\u00e9 that continues beyond column one hundred, with \\" and more words at its very end"',
            "note: [one long item of a flow list, another long item of the list, 'a third one with quotes, and a comma', the last of them]",
            "note: >-\n  A folded text that continues beyond column one hundred in a single line of the file, with more words at its end\n  and more",
            "note:   長い文章です。長い文章です。長い文章です。長い文章です。長い文章です。長い文章です。長い文章です。長い文章です。長い文章です。   # c",
        ],
    )
    def test_long_line_is_not_folded(self, line: str) -> None:
        text = f"---\ntitle: Long\n{line}\nweight: 1\n---\nText\n"
        assert changed_lines(text, {"weight": 2}) == ["-weight: 1", "+weight: 2"]

    @pytest.mark.parametrize(
        ("inner", "changes", "edited"),
        [
            ("title: Windows\ntags:\n  - a\n", {"tags": ["a", "b"], "status": "x"}, "title: Windows\ntags:\n  - a\n  - b\nstatus: x\n"),
            ("title: Windows\n", {"text": "one\ntwo\n"}, "title: Windows\ntext: |\n  one\n  two\n"),
            ("text: |\n  one\n  two\nz: 1\n", {"text": "one\nnew\n"}, "text: |\n  one\n  new\nz: 1\n"),
            ("# c\na: {b: 1}\n\n", {"a": {"b": 2}}, "# c\na: {b: 2}\n\n"),
            ("a: 1\n", {"b": {"c": [1]}}, "a: 1\nb:\n  c:\n    - 1\n"),
        ],
    )  # fmt: skip
    def test_windows_line_ends_stay_in_lines_and_out_of_values(
        self, inner: str, changes: dict[str, Any], edited: str
    ) -> None:
        text, expected = (f"---\n{each}---\n\n# Head\n".replace("\n", "\r\n") for each in (inner, edited))
        result = edit_front_matter("a.md", text.encode(), changes).decode()
        assert result == expected
        values = split_front_matter(result).values or {}
        assert {key: values[key] for key in changes} == changes

    @pytest.mark.parametrize(
        ("text", "changes", "old", "new"),
        [
            ('{"title":"Set-up","weight":"9","date":"2019-08-09"}\n\n## Look\n', {"title": "New"}, '"Set-up"', '"New"'),
            ('{"title":"Set-up","weight":"9","date":"2019-08-09"}\n\n## Look\n', {"weight": "10"}, '"9"', '"10"'),
            ('{ "a" : 1 , "b": [1,2] }\n', {"a": 2}, ": 1 ,", ": 2 ,"),
            ('{"a":{"b":"\\u00e9"},"c":1.50,"d":true}\n\nText {"c":1}\n', {"d": False}, "true", "false"),
            ('{"a":"x","b":"}\\n{"}\r\n\r\nText\r\n', {"a": "y"}, '"x"', '"y"'),
        ],
    )  # fmt: skip
    def test_json_in_one_line_keeps_its_other_values(
        self, text: str, changes: dict[str, Any], old: str, new: str
    ) -> None:
        assert edit_front_matter("a.md", text.encode(), changes).decode() == text.replace(old, new, 1)

    @pytest.mark.parametrize(
        "body",
        [
            "above\n\n---\n\n```mermaid\n---\ntitle: Rules\n---\ngraph TD\n```\n\nbelow\n",
            "---\n\ntitle: Rules\n",
            "---\ntitle: Rules\n---\n",
            "+++\ntitle = 'Rules'\n+++\n\n...\n",
            "title: Rules\n===\n- - -\n",
        ],
    )
    def test_rules_in_the_text_stay(self, body: str) -> None:
        for start, end in (("---\ntitle: ", "\n---\n"), ('+++\ntitle = "', '"\n+++\n')):
            text = f"{start}Rules{end}{body}"
            assert edit_front_matter("a.md", text.encode(), {"title": "New"}).decode() == f"{start}New{end}{body}"
            assert split_front_matter(text).body == body

"""Tests of commit messages with `git interpret-trailers --parse`."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.drivers.git.commit_message import DEFAULT_MESSAGE, co_author, co_authors_of, create_git_commit_message
from app.drivers.git.port import Person
from tests.support.git_command import run_git

ADA = ("Co-authored-by", "Ada Author <ada@mail.example.org>")
EXAMPLES = 5_000 if os.environ.get("GALLEY_LONG") else 100
LINES = st.sampled_from([
    "", "", "", " ", "\t", "Title", "words, more words", "Foo: bar", "Foo : bar", "Foo:", ": bar", "Fixes: #12", "  folded",
    "\tfolded", "Signed-off-by: B <b@x.org>", "signed-OFF-by: B", "  Co-Authored-By: C <c@x.org>", "co-authored-by:", "---",
    "--- a/file", "----", " ---", "---\t", "# comment", "#", "# ------------------------ >8 ------------------------",
    "Conflicts:", "\ta/path", "(cherry picked from commit abc)", "See https://x.example: there", "é: ü", "Foo-Bar: baz", "\x0b",
    "Acked-by: D <d@x.org>", "a=b", "BREAKING CHANGE: it", "Note:x", "\x85", "\u2028Signed-off-by: E", "\x1c",
])  # fmt: skip
TEXTS = st.lists(LINES | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), max_size=9).map(
    "\n".join
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n<>"), min_size=1, max_size=12).filter(str.strip)
PEOPLE = st.builds(Person, NAMES, st.sampled_from(["ada@mail.example.org", "b+c@x.org"]))
TRAILERS = st.lists(
    PEOPLE.map(co_author) | st.just(("Reviewed-by", "R <r@x.org>")) | st.just(("Fixes", "#1")), max_size=3
)


def parsed(message: str) -> list[str]:
    """Return the trailers that git parses from a message."""
    environment = {"GIT_CONFIG_NOSYSTEM": "1"}
    done = run_git(Path("/"), "interpret-trailers", "--parse", data=message.encode(), environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().split("\n")[:-1]


class TestForm:
    def test_message_description_and_trailers_are_separated_by_blank_lines(self) -> None:
        made = create_git_commit_message("Title", [ADA], "What\nand why")
        assert made == "Title\n\nWhat\nand why\n\nCo-authored-by: Ada Author <ada@mail.example.org>\n"

    def test_message_without_trailers_ends_with_one_line_break(self) -> None:
        assert create_git_commit_message("Title\n\n", []) == "Title\n"

    @pytest.mark.parametrize(
        "line", ["Co-authored-by: X <x@y.z>", "CO-AUTHORED-BY: x", "signed-off-by:x", " Signed-Off-By : x"]
    )
    def test_typed_attributions_are_removed(self, line: str) -> None:
        made = create_git_commit_message(f"Title\n\n{line}\nkept", [ADA], f"{line}\r\nalso kept\r{line}")
        assert made == "Title\n\nkept\n\nalso kept\n\nCo-authored-by: Ada Author <ada@mail.example.org>\n"

    @pytest.mark.parametrize("message", ["", " \n\n", "Signed-off-by: X <x@y.z>"])
    def test_empty_message_becomes_the_default_message(self, message: str) -> None:
        assert create_git_commit_message(message, []) == f"{DEFAULT_MESSAGE}\n"

    def test_ordinary_text_is_unchanged(self) -> None:
        text = "feat: add pages\n\n- one\n  - two: three\n\nNote: this\nis no trailer\n\n# 12 is fixed"
        assert create_git_commit_message(text, []) == text + "\n"
        assert create_git_commit_message(text, [ADA]).startswith(text + "\n\n")


class TestTrailers:
    @settings(max_examples=EXAMPLES, deadline=None)
    @example("Title\n\nFoo: bar", None, [])
    @example("Title\n\nFoo: bar\n\n# comment", None, [])
    @example("Title\n---\nrest", "more", [ADA])
    @example("Title\n\nFoo: bar\n(cherry picked from commit x)\nwords\n", None, [])
    @example("# ------------------------ >8 ------------------------\nrest", None, [ADA])
    @example("Title\n\nFoo: bar\n\nConflicts:\n\ta\n", None, [])
    @given(TEXTS, st.none() | TEXTS, TRAILERS)
    def test_git_parses_exactly_the_supplied_trailers(
        self, message: str, description: str | None, trailers: list[tuple[str, str]]
    ) -> None:
        made = create_git_commit_message(message, trailers, description)
        assert parsed(made) == [f"{token}: {value}" for token, value in trailers]

    @given(TEXTS, TRAILERS)
    def test_attributions_of_the_message_are_removed(self, message: str, trailers: list[tuple[str, str]]) -> None:
        lines = create_git_commit_message(message, trailers).split("\n")
        theirs = lines[: len(lines) - 1 - len(trailers)]
        assert not any(line.strip().lower().startswith(("co-authored-by:", "signed-off-by:")) for line in theirs)


class TestRefusals:
    @pytest.mark.parametrize("bad", ["A\nB", "A\rB", "A\0B", "A <x>", "A>", "", " "])
    def test_person_with_line_breaks_raises_value_error(self, bad: str) -> None:
        with pytest.raises(ValueError, match="line breaks"):
            co_author(Person(bad, "a@mail.example.org"))
        with pytest.raises(ValueError, match="line breaks"):
            co_author(Person("Ada", bad))

    @pytest.mark.parametrize(
        "trailer",
        [
            ("Co-authored-by", "Ada\nEvil: x <a@b.c>"),
            ("Co-authored-by", "Ada <a@b.c> <d@e.f>"),
            ("Co-authored-by", "Ada"),
            ("Co-authored-by", "Ada <a@b.c>\0"),
            ("Co-authored-by", " Ada <a@b.c>"),
            ("Fixes", "<x"),
            ("Fixes", ""),
            ("Not a token", "x"),
            ("Evil:\nFoo", "x"),
            ("", "x"),
        ],
    )
    def test_invalid_trailer_raises_value_error(self, trailer: tuple[str, str]) -> None:
        with pytest.raises(ValueError, match="trailer"):
            create_git_commit_message("Title", [trailer])

    def test_nul_in_the_text_is_refused(self) -> None:
        with pytest.raises(ValueError, match="NUL"):
            create_git_commit_message("a\0b", [])


class TestCoAuthors:
    def test_co_authors_are_unique_by_email_and_in_order(self) -> None:
        message = (
            "Subject\n\nCo-authored-by: A <a@x.org>\nco-authored-by:B C  <b@x.org>\nCo-Authored-By: A2 <A@x.org>\n"
        )
        assert co_authors_of(message) == [Person("A", "a@x.org"), Person("B C", "b@x.org")]

    def test_malformed_trailers_are_ignored(self) -> None:
        assert co_authors_of("Co-authored-by: nobody\nCo-authored-by: <>\nx Co-authored-by: A <a@x.org>") == []

    def test_first_hundred_lines_are_read(self) -> None:
        message = "".join(f"Co-authored-by: \t A <a{number}@x.org> \n" for number in range(200))
        assert co_authors_of(message)[99:] == [Person("A", "a99@x.org")]

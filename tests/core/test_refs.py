"""Tests of the validation of branch names, also against `git check-ref-format`, and of shas."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.refs import MAX_COMPONENT_BYTES, is_branch_name, is_sha

BAD = [
    "", "-", "-x", "--all", "@", "HEAD", "a..b", "main..work", "HEAD~1", "main^", "a@{1}", "@{-1}", "a b", "a\nb", "a\0b",
    "/a", "a/", "a//b", "a.", ".a", "a/.b", "a.lock", "a.lock/b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a\x7fb",
    "refs/heads/main", "x" * 256, "\ud800",
    "a\u202eb", "\u2066a", "a\u200e", "a\x85b",
]  # fmt: skip
TRICKY = st.text(st.sampled_from("ab.@{}-/~^:?*[\\ \x7f\x01é日HEADlockrefs"), min_size=1, max_size=14)


def is_valid_for_git(name: str) -> bool:
    done = subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], capture_output=True)
    return done.returncode == 0


class TestBranchNames:
    @pytest.mark.parametrize(
        "name", ["main", "work/one", "v1.2", "fix#12", "日本語", "a@b", "a-b", "feature/x.y", "@x"]
    )
    def test_usual_branch_name_is_valid(self, name: str) -> None:
        assert is_branch_name(name)

    @pytest.mark.parametrize("name", BAD)
    def test_ambiguous_branch_name_is_refused(self, name: str) -> None:
        assert not is_branch_name(name)

    @settings(max_examples=150, deadline=None)
    @example("a.lock/b")
    @example("a/@")
    @given(TRICKY)
    def test_result_equals_that_of_git(self, name: str) -> None:
        ours = name in ("HEAD",) or name.startswith(("-", "refs/"))
        assert is_branch_name(name) == (is_valid_for_git(name) and not ours and name != "@")

    def test_component_length_includes_the_lock_suffix(self) -> None:
        assert is_branch_name("x" * MAX_COMPONENT_BYTES)
        assert not is_branch_name("x" * (MAX_COMPONENT_BYTES + 1))

    @given(st.text())
    def test_any_text_returns_a_result(self, name: str) -> None:
        assert is_branch_name(name) in (True, False)


class TestShas:
    def test_forty_lower_case_digits_are_valid(self) -> None:
        assert is_sha("0123456789abcdef" * 2 + "01234567")

    @pytest.mark.parametrize("text", ["", "a" * 39, "a" * 41, "A" * 40, "g" * 40, "a" * 40 + "\n", "HEAD"])
    def test_other_text_is_refused(self, text: str) -> None:
        assert not is_sha(text)

"""Tests of declared versions of Python: version files, Read the Docs and `requires-python`."""

import pytest

from app.runtimes.python_sites import declared_range, is_satisfied

READ_THE_DOCS = b"build:\n  os: ubuntu-24.04\n  tools:\n    python: %s\n"
NESTED = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(98, 122))


class TestDeclaredRange:
    @pytest.mark.parametrize(
        ("path", "content", "declared"),
        [
            (".python-version", b"3.12.1\n", "==3.12.*"),
            (".python-version", b"cpython-3.11\n3.12\n", "==3.11.*"),
            (".python-version", b"3\n", "==3.*"),
            ("runtime.txt", b"python-3.13.0", "==3.13.*"),
            ("runtime.txt", b"3.10", "==3.10.*"),
            (".readthedocs.yaml", READ_THE_DOCS % b"'3.12'", "==3.12.*"),
            (".readthedocs.yml", READ_THE_DOCS % b"3.10", "==3.10.*"),
            ("pyproject.toml", b"[project]\nrequires-python = '>=3.12,<4'", ">=3.12,<4"),
        ],
    )
    def test_declaration_of_each_file_is_a_range(self, path: str, content: bytes, declared: str) -> None:
        assert declared_range({path: content}.get) == declared

    def test_version_file_precedes_the_other_files(self) -> None:
        files = {
            ".python-version": b"3.13",
            ".readthedocs.yaml": READ_THE_DOCS % b"'3.12'",
            "pyproject.toml": b"[project]\nrequires-python = '>=3.8'",
        }
        assert declared_range(files.get) == "==3.13.*"

    @pytest.mark.parametrize(
        ("path", "content"),
        [
            (".python-version", b"pypy3.10-7.3.12"),
            (".python-version", b"\xff\xfe"),
            ("runtime.txt", b"ruby-3.1"),
            (".readthedocs.yaml", READ_THE_DOCS % b"miniconda3-4.7"),
            (".readthedocs.yaml", READ_THE_DOCS % b"latest"),
            (".readthedocs.yaml", b"build: ["),
            (".readthedocs.yaml", b"- build"),
            (".readthedocs.yaml", NESTED + b"build: {tools: {python: *y}}\n"),
            ("pyproject.toml", b"[project]\nrequires-python = 3"),
            ("pyproject.toml", b"[project]\nrequires-python = '" + b">" * 201 + b"'"),
            ("pyproject.toml", b"[["),
        ],
    )
    def test_other_text_is_no_declaration(self, path: str, content: bytes) -> None:
        assert declared_range({path: content}.get) is None


class TestIsSatisfied:
    @pytest.mark.parametrize("declared", ["==3.11.*", ">=3.9", ">=3.11,<4", "~=3.11", "!=3.10.*", "", "3.11", "text"])
    def test_version_in_the_range_matches(self, declared: str) -> None:
        assert is_satisfied((3, 11, 7), declared)

    @pytest.mark.parametrize("declared", ["==3.12.*", ">=3.12", "<3.11", "~=3.12.1", "!=3.11.*"])
    def test_version_outside_the_range_does_not_match(self, declared: str) -> None:
        assert not is_satisfied((3, 11, 7), declared)

"""Word lint of the names, docstrings and comments."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / ".ci" / "word_lint.py"


def load(file: Path) -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("word_lint", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["word_lint"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lint() -> ModuleType:
    return load(FILE)


class TestFindings:
    @pytest.mark.parametrize(
        ("source", "finding"),
        [
            ('"""What it does."""', (1, "headless docstring", "What it does.")),
            ('"""Returns it to nobody."""', (1, "word in a docstring", "nobody")),
            ("x = 1  # of its own", (1, "word in a comment", "of its own")),
            ("found = 1", (1, "name", "found")),
            ("def f(told): ...", (1, "name", "told")),
            ("MAX_OF_ALL = 1", (1, "name", "MAX_OF_ALL")),
            ('log.warning("lease_lost", job=1)', (1, "log event", "lease_lost")),
        ],
    )
    def test_source_with_a_forbidden_term_is_reported(
        self, lint: ModuleType, tmp_path: Path, source: str, finding: tuple[int, str, str]
    ) -> None:
        assert lint.findings(source, "app/module.py") == [finding]

    @pytest.mark.parametrize(
        "source",
        ['"""Return it."""', "given_name = 1", "foundation = 1  # rest of the file", 'log.info("job.lease_lost")'],
    )
    def test_source_without_a_forbidden_term_is_accepted(self, lint: ModuleType, source: str) -> None:
        assert lint.findings(source, "app/module.py") == []

    @pytest.mark.parametrize("name", ["test_caller_is_told", "test_it_returns_404", "test_what_fails_is_logged"])
    def test_test_name_with_a_forbidden_word_is_reported(self, lint: ModuleType, name: str) -> None:
        assert lint.findings(f"def {name}(): ...", "tests/test_module.py") == [(1, "name", name)]

    @pytest.mark.parametrize("name", ["test_unknown_path_is_not_found", "test_purge_deletes_nothing"])
    def test_test_name_with_a_standard_term_is_accepted(self, lint: ModuleType, name: str) -> None:
        assert lint.findings(f"def {name}(): ...", "tests/test_module.py") == []

    def test_local_variable_of_a_test_is_accepted(self, lint: ModuleType) -> None:
        assert lint.findings("found = 1", "tests/test_module.py") == []


class TestDuplicateClasses:
    def test_public_class_of_two_modules_is_reported(self, lint: ModuleType, tmp_path: Path) -> None:
        for name in ("a.py", "b.py"):
            (tmp_path / name).write_text("class Thing: ...\nclass _Private: ...\n")
        files = sorted(tmp_path.iterdir())
        assert lint.duplicate_classes(files, tmp_path) == ["Thing: a.py, b.py"]


class TestMain:
    def test_finding_of_a_path_is_printed_and_returns_1(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The copy of the script checks the project that contains it."""
        for folder in (".ci", "app"):
            (tmp_path / folder).mkdir()
        shutil.copy(FILE, tmp_path / ".ci")
        (tmp_path / "app" / "module.py").write_text("found = 1\n")
        assert load(tmp_path / ".ci" / FILE.name).main(["app"]) == 1
        assert capsys.readouterr().out == "app/module.py:1: name: found\n"

"""Lint of regular expressions: nested, adjacent and repeatedly searched repetitions."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lint() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regex_lint", ROOT / ".ci" / "regex_lint.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["regex_lint"] = module
    spec.loader.exec_module(module)
    return module


def kinds(lint: ModuleType, source: str) -> set[str]:
    return {
        kind
        for _, _, pattern, flags, is_searched in lint.expressions(ast.parse(source))
        for kind in lint.findings_in(pattern, flags, is_searched=is_searched)
    }


class TestFindings:
    @pytest.mark.parametrize(
        ("source", "kind"),
        [
            (r're.match(r"(?:\s+|#[^\n]*\n)*-", text)', "nested"),
            (r're.fullmatch(r"(a+)+b", text)', "nested"),
            (r're.fullmatch(r"(?:a*b?)*c", text)', "nested"),
            (r'_A = re.compile(r"^a:[ \t]*([^<>\n]*?)[ \t]*<", re.MULTILINE)', "adjacent"),
            (r're.match(rb"[ \t]*(,?)[ \t]*$", text)', "adjacent"),
            (r're.match(r".*x.*y", text)', "adjacent"),
            (r're.sub(r"\{\{(.*?)\}\}", "", text)', "searched"),
            (r're.search(r"(?m)^\s*require\b", text)', "searched"),
            (r're.search(r"(?m)^(?!\s*at )x", text)', "searched"),
            (r're.findall(r"\s*,", text)', "searched"),
            (r'Regexp(r"(a+)+\Z")', "nested"),
        ],
    )
    def test_repetition_of_the_same_characters_is_reported(self, lint: ModuleType, source: str, kind: str) -> None:
        assert kind in kinds(lint, source)

    @pytest.mark.parametrize(
        "source",
        [
            r're.match(r"(?:\s++|#[^\n]*+\n)*+-", text)',
            r're.match(r"(?>a+)+b", text)',
            r're.sub(r"\{\{(?:(.*?)\}\}|.*)", "", text)',
            r're.sub(r"\"(?:[^\"\\\n]++|\\.)*+\"?", "", text)',
            r're.search(r"(?m)^[ \t]*require\b", text)',
            r're.match(r"\s*,", text)',
            r're.search(r"a{0,100}b", text)',
            r're.fullmatch(r"[a-z]+(?:-[a-z]+)*", text)',
            r'_A = re.compile(r"\s*:"); _A.match(text)',
        ],
    )
    def test_linear_expression_is_accepted(self, lint: ModuleType, source: str) -> None:
        assert kinds(lint, source) == set()


class TestMain:
    def test_project_has_no_finding(self, lint: ModuleType) -> None:
        assert lint.main(ROOT) == 0

    def test_finding_and_exception_without_a_finding_are_reported(
        self, lint: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "app").mkdir()
        (tmp_path / "app" / "a.py").write_text('import re\n_A = re.compile(r"(a+)+b")\n')
        assert lint.main(tmp_path) == 1
        output = capsys.readouterr().out
        assert "app/a.py:2: _A: nested" in output
        assert "app/content/schema/front_matter_cms.py: _DYNAMIC: the exception is not needed" in output

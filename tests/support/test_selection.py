"""Tests of the options that select a part of the suite."""

import pytest

pytest_plugins = ("pytester",)

MODULE = """
import pytest

@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    return request.param

def test_database(store): ...

def test_plain(): ...

@pytest.mark.slow
def test_long(): ...
"""
ONE_DATABASE = MODULE.replace("import pytest", "import pytest\n\npytestmark = pytest.mark.one_database")


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a suite of three modules with these options. It runs without the other installed plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers =\n slow\n one_database")
    pytester.makepyfile(test_a=MODULE, test_b=MODULE, test_c=MODULE)
    return pytester


def count(suite: pytest.Pytester, *arguments: str) -> int:
    return suite.inline_run("-p", "tests.support.selection", *arguments).countoutcomes()[0]


class TestSelection:
    def test_store_option_runs_plain_tests_with_sqlite_only(self, suite: pytest.Pytester) -> None:
        assert count(suite, "--store=sqlite") == 9
        assert count(suite, "--store=postgresql") == 3

    def test_quick_option_excludes_slow_tests(self, suite: pytest.Pytester) -> None:
        assert count(suite, "--quick", "--store=sqlite") == 6

    def test_module_marked_one_database_runs_on_sqlite_only(self, suite: pytest.Pytester) -> None:
        suite.makepyfile(test_a=ONE_DATABASE)
        assert count(suite, "--store=sqlite") == 9
        assert count(suite, "--store=postgresql") == 2
        assert count(suite) == 11

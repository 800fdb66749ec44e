"""Pytest options that select a part of the suite: one database or the quick set."""

import pytest

SLOW_MARKERS = frozenset({"server", "sandbox", "slow"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--store`, `--quick` and `--reversed`."""
    group = parser.getgroup("galley")
    group.addoption("--store", choices=("sqlite", "postgresql"), help="run the tests of one database only")
    group.addoption("--quick", action="store_true", help="leave out tests with servers, subprocesses or long examples")
    group.addoption("--reversed", action="store_true", help="run the tests in reversed order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that the options exclude, and order the others."""
    selected = [item for item in items if _is_selected(item, config.getoption("store"), config.getoption("quick"))]
    if len(selected) < len(items):
        excluded = set(items) - set(selected)
        config.hook.pytest_deselected(items=list(excluded))
        items[:] = selected
    if config.getoption("reversed"):
        items.reverse()


def _is_selected(item: pytest.Item, store: str | None, quick: bool) -> bool:
    """Return whether the options include a test. A test without a database belongs to SQLite."""
    if quick and any(item.get_closest_marker(name) for name in SLOW_MARKERS):
        return False
    database = getattr(getattr(item, "callspec", None), "params", {}).get("store", "sqlite")
    if database != "sqlite" and item.get_closest_marker("one_database"):
        return False
    return store is None or database == store

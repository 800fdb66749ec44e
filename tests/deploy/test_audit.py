"""Tests of the report about an audit of the locked requirements."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "deploy" / "audit.py"
CLEAN = {"name": "flask", "version": "3.1.2", "vulns": []}
SKIPPED = {"name": "limits", "skip_reason": "Dependency not found on PyPI and could not be audited: limits (5.6)"}
VULNERABLE = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("audit", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestVerdict:
    def test_vulnerability_fails_and_names_the_fixed_version(self, audit: ModuleType) -> None:
        vulnerable, told = audit.verdict([CLEAN, VULNERABLE, SKIPPED])
        assert vulnerable
        assert told == "pip-audit: 2 of 3 audited, 1 known vulnerabilities\n  jinja2 2.0: PYSEC-1, mended in 2.1"

    def test_audit_without_vulnerabilities_passes(self, audit: ModuleType) -> None:
        assert audit.verdict([CLEAN]) == (False, "pip-audit: 1 of 1 audited, 0 known vulnerabilities")

    @pytest.mark.parametrize(("told", "number"), [([SKIPPED], "1"), ([], "all")])
    def test_audit_without_network_passes_with_a_message(
        self, audit: ModuleType, told: list[object], number: str
    ) -> None:
        line = f"pip-audit: 0 of {number} audited, the advisory service is not reachable"
        assert audit.verdict(told) == (False, line)

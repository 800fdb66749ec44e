"""Tests of declared versions of Node.js: files, names of releases and ranges."""

import pytest

from app.runtimes.node import declared_range, is_satisfied


def declared(engines: object = None, **files: bytes) -> str | None:
    contents = {f".{name.replace('_', '-')}": content for name, content in files.items()}
    return declared_range(contents.get, engines)


class TestDeclaredRange:
    def test_version_file_selects_its_major_version(self) -> None:
        assert declared(nvmrc=b"v20.11.0\n") == "^20"
        assert declared({"node": ">=22"}, node_version=b"18") == "^18"

    def test_name_of_a_release_is_its_major_version(self) -> None:
        assert declared(nvmrc=b"lts/Jod\n") == "^22"

    def test_engines_apply_without_a_version_file(self) -> None:
        assert declared({"node": ">=22.12.0"}) == ">=22.12.0"
        assert declared({"node": ">=18"}, nvmrc=b"lts/*") == ">=18"

    @pytest.mark.parametrize("engines", [None, {}, [], {"node": 20}, {"node": "9" * 201}])
    def test_missing_or_invalid_declaration_is_none(self, engines: object) -> None:
        assert declared(engines) is None


class TestIsSatisfied:
    @pytest.mark.parametrize(
        "text",
        [
            *("22", "22.x", "v22.12.1", "=22.12", "^22.1", "~22.12.0", ">=20", ">= 20.3.0 < 23", "<=22", "<22.13"),
            *("18 || >=22.12.0", "20 - 22", ">21", "*", "", "x", "lts/*", ">=18.17.1 || ^20.3.0", ">=18-alpha"),
        ],
    )
    def test_version_in_the_range_matches(self, text: str) -> None:
        assert is_satisfied((22, 12, 1), text)

    @pytest.mark.parametrize(
        "text",
        [
            "20",
            "20.x",
            "22.11",
            "^20.3.0",
            "~22.11",
            ">22",
            "<22",
            "<=20",
            ">=18 <21",
            "18 || 20",
            "18 - 20",
            "22.12.2",
        ],
    )
    def test_version_outside_the_range_does_not_match(self, text: str) -> None:
        assert not is_satisfied((22, 12, 1), text)

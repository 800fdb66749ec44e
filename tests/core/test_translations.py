"""Tests of catalogues of translated texts."""

from pathlib import Path

from app.core.translations import read_catalog

CATALOG = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "Save"\nmsgstr "Speichern"\n'


class TestReadCatalog:
    def test_translated_text_is_returned(self, tmp_path: Path) -> None:
        (tmp_path / "de.po").write_text(CATALOG)
        assert read_catalog(tmp_path, "de").gettext("Save") == "Speichern"

    def test_language_without_a_file_returns_english(self, tmp_path: Path) -> None:
        assert read_catalog(tmp_path, "fr").gettext("Save") == "Save"

    def test_unknown_language_reads_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "xx.po").write_text(CATALOG)
        assert read_catalog(tmp_path, "xx").gettext("Save") == "Save"

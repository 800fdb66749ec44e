"""Labels of fields from their keys."""

import pytest
from flask import Flask, g

from app.console.shell.field_labels import label_of

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("link_title", "Link title"),
        ("linkTitle", "Link title"),
        ("cover-image", "Cover image"),
        ("pubDate", "Publish date"),
        ("lastmod", "Last modified"),
        ("noIndex", "No index"),
        ("canonicalURL", "Canonical URL"),
        ("seo", "SEO"),
        ("title", "Title"),
        ("x2y", "X2y"),
        ("überschrift", "Überschrift"),
        ("_", "_"),
        ("", ""),
    ],
)
def test_label_has_the_words_of_the_key(app: Flask, name: str, label: str) -> None:
    with app.test_request_context():
        assert label_of(name) == label


def test_label_of_a_common_key_is_translated(app: Flask) -> None:
    with app.test_request_context():
        g.console_language = "de"
        assert [label_of(name) for name in ("tags", "coverImage", "tide_table")] == [
            "Schlagwörter",
            "Titelbild",
            "Tide table",
        ]

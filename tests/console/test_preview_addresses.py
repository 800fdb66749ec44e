"""Addresses of pages in the preview."""

import pytest

from app.console.editor.editor_page import with_path

pytestmark = pytest.mark.one_database


def test_path_replaces_that_of_the_address() -> None:
    assert with_path("http://x.preview.localhost:1/?preview_token=t", "/a/") == (
        "http://x.preview.localhost:1/a/?preview_token=t"
    )

"""Test of the authorization page against the declarations."""

import os
from pathlib import Path

from flask import Flask

from tests.contract.document import document
from tests.contract.expected import expected
from tests.contract.served import served

PAGE = Path(__file__).parents[2] / "docs" / "authz-matrix.md"


class TestAuthorizationPage:
    def test_page_equals_the_generated_text(self, app: Flask) -> None:
        routes = served(app)
        text = document([row for row in expected() if row.route in routes], routes)
        if os.environ.get("GALLEY_WRITE_DOCS"):
            PAGE.write_text(text)
        assert PAGE.read_text() == text

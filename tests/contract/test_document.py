"""Tests of the authorization page and the table of events against the declarations."""

import os
from pathlib import Path

from flask import Flask

from app.resources.outbound_webhook.schemas.events import event_types
from tests.contract.document import document
from tests.contract.expected import expected
from tests.contract.served import served

DOCS = Path(__file__).parents[2] / "docs"
PAGE, WEBHOOKS = DOCS / "authz-matrix.md", DOCS / "api" / "webhooks.md"
START, END = "<!-- events: generated -->\n", "<!-- end of the events -->"


class TestAuthorizationPage:
    def test_page_equals_the_generated_text(self, app: Flask) -> None:
        routes = served(app)
        text = document([row for row in expected() if row.route in routes], routes)
        if os.environ.get("GALLEY_WRITE_DOCS"):
            PAGE.write_text(text)
        assert PAGE.read_text() == text


class TestTableOfEvents:
    def test_page_lists_every_event_with_its_data(self, app: Flask) -> None:
        rows = [
            f"| `{event.name}` | {event.description} | {', '.join(f'`{name}`' for name in event.example)} |"
            for event in event_types.values()
        ]
        table = "\n".join(["", "| type | event | `data` |", "|---|---|---|", *rows, "", ""])
        before, _, after = WEBHOOKS.read_text().partition(START)
        text = f"{before}{START}{table}{END}{after.partition(END)[2]}"
        if os.environ.get("GALLEY_WRITE_DOCS"):
            WEBHOOKS.write_text(text)
        assert WEBHOOKS.read_text() == text

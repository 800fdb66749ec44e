"""AI suggestions in the editor: hidden without a configured model, and a text for the history."""

import json

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import FILE, form_of
from tests.resources.ai.conftest import double
from tests.support.doubles.ai import AiDouble, say

pytestmark = pytest.mark.one_database

__all__ = ["double"]

MESSAGE = {"type": "docs", "scope": "posts", "subject": "Greet the reader", "body": "It is friendlier."}
HEADERS = {"Accept": "application/json", "Origin": "http://127.0.0.1:8000"}


def base_of(console: ConsoleScene) -> str:
    return f"/console/projects/{console.ids['project_id']}"


def test_controls_are_absent_and_the_panel_explains_without_a_model(console: ConsoleScene) -> None:
    url = f"{base_of(console)}/edit/{FILE}"
    page = console.site.owner.client.get(f"{url}?panel=assistant").text
    assert "has not configured an AI provider" in page
    assert "data-ai-command" not in page
    assert "data-suggest-url" not in page
    assert 'data-panel-toggle="assistant"' not in page


def test_controls_are_present_with_a_model(console: ConsoleScene, double: AiDouble) -> None:
    page = console.site.owner.client.get(f"{base_of(console)}/edit/{FILE}").text
    for part in ('data-ai-command="ask"', "data-suggest-url", 'data-panel-toggle="assistant"'):
        assert part in page


def test_former_name_of_the_panel_shows_the_assistant(console: ConsoleScene) -> None:
    page = console.site.owner.client.get(f"{base_of(console)}/edit/{FILE}?panel=ai").text
    assert 'data-panel="assistant"' in page


def test_suggested_message_describes_the_edit(console: ConsoleScene, double: AiDouble) -> None:
    owner, base = console.site.owner, base_of(console)
    sent = form_of(owner.client.get(f"{base}/edit/{FILE}"), "editor-form")
    url = f"{base}/suggest-message/{FILE}"
    double.script = [say(json.dumps(MESSAGE))]
    with console.app.app_context():
        unchanged = owner.client.post(url, data=sent, headers=HEADERS)
        edit = sent | {"body": sent["body"].replace("One line.", "Welcome.")}
        suggested = owner.client.post(url, data=edit, headers=HEADERS)
    assert (unchanged.status_code, unchanged.json["message"]) == (400, "Nothing was changed")
    assert (suggested.status_code, suggested.json) == (200, {"text": "Greet the reader"})
    prompt = json.dumps(double.last.body)
    assert "-One line." in prompt
    assert "+Welcome." in prompt


def test_model_failure_is_an_error_of_the_suggestion(console: ConsoleScene, double: AiDouble) -> None:
    owner, base = console.site.owner, base_of(console)
    sent = form_of(owner.client.get(f"{base}/edit/{FILE}"), "editor-form") | {"body": "Other.\r\n"}
    double.fault = 500
    with console.app.app_context():
        failed = owner.client.post(f"{base}/suggest-message/{FILE}", data=sent, headers=HEADERS)
    assert failed.status_code == 502
    assert failed.json["success"] is False

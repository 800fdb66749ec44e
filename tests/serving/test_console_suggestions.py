"""AI suggestions in Chromium: a question, a change that is accepted and taken back, and a text for the history."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.serving.browser import chromium
from tests.serving.processes import running_prepared
from tests.serving.test_console_screens import FINDINGS, RECORDER, Console
from tests.support.console_assets import build_assets
from tests.support.doubles.ai import AiDouble, ModelReply, say

FILE = "content/posts/fog-signals.md"
OLD, NEW = "sound is a place", "sound is a map"
MESSAGE = {"type": "docs", "scope": "posts", "subject": "Explain the sound", "body": "It is clearer."}
ANSWER_MS = 20_000


def reply(body: dict[str, Any]) -> ModelReply:
    """Return the reply of the model to one of the requests of the panel."""
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    if "conventional" in prompt.lower():
        return say(json.dumps(MESSAGE))
    if "What is a bell buoy?" in prompt:
        return say("A buoy ", "with a bell.")
    if "Correct spelling" in prompt:
        start = prompt.index("In fog")
        return say(prompt[start : prompt.index("it sounds.", start)].replace(OLD, NEW) + "it sounds.\n")
    return say(" The keeper rings it.")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Run the service with a model and a browser."""
    axe = build_assets().WORK / "node_modules" / "axe-core" / "axe.min.js"
    with AiDouble() as double, chromium() as browser:
        double.answer_to = reply
        model = {"AI_PROVIDER": "openai", "AI_MODEL": "m", "OPENAI_BASE_URL": double.url, "OPENAI_API_KEY": "key"}
        with running_prepared(tmp_path_factory.mktemp("ai"), SANDBOX_DRIVER="none", **model) as service:
            service.wait_for("job=content.index")
            page = browser.new_page()
            page.add_init_script(RECORDER)
            page.add_init_script(path=axe)
            yield Console(service, page)


@pytest.mark.server
def test_suggestions_change_the_text_only_when_accepted(console: Console) -> None:
    page, project = console.page, console.sign_in()
    console.open(f"{project}/edit/{FILE}", ".ProseMirror")
    page.locator(".content-header a[data-panel-toggle=ai]").click()
    text, cards = page.locator(".ProseMirror"), page.locator(".panel__card")
    page.get_by_label("Question or instruction").fill("What is a bell buoy?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(cards.nth(1)).to_contain_text("A buoy with a bell.", timeout=ANSWER_MS)
    page.get_by_role("button", name="Correct spelling and grammar").click()
    expect(cards.nth(2).locator("ins")).to_contain_text(NEW, timeout=ANSWER_MS)
    expect(text).to_contain_text(OLD)
    page.get_by_role("button", name="Use this text").click()
    expect(text).to_contain_text(NEW)
    cards.nth(2).get_by_role("button", name="Undo").click()
    expect(text).to_contain_text(OLD)
    page.get_by_role("button", name="Use this text").click()
    page.get_by_role("button", name="Suggest a text").click()
    expect(page.get_by_label("What did you change?")).to_have_value(MESSAGE["subject"], timeout=ANSWER_MS)
    assert page.evaluate(FINDINGS) == []
    page.keyboard.press("Control+s")
    expect(page.locator(".toast")).to_be_visible()

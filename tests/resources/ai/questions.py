"""A valid request and a valid model answer for each handler."""

import time
from typing import Any

from tests.support.doubles.ai import AiDouble, say

OWN = {"X-AI-Key": "my-own-key", "X-AI-Provider": "openai", "X-AI-Model": "gpt-x"}
CLAUDE = {"X-AI-Key": "my-own-key", "X-AI-Provider": "anthropic", "X-AI-Model": "claude-x"}
ASK = {"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Write about tea"}]}]}
BODIES: dict[str, dict[str, Any]] = {
    "command": ASK,
    "copilot": {"prompt": "The quick"},
    "code-edit": {"code": "a\n", "instruction": "change"},
    "code-explain": {"code": "a\n"},
    "commit": {"diff": "--- a/x\n+++ b/x\n"},
    "metadata": {"content": "# Tea"},
    "seo-fix": {"content": "# Tea", "issues": [{"id": "title", "message": "No title"}]},
}
STREAMS = ("command", "code-edit", "code-explain")
GOOD = {
    "command": say("Tea."),
    "copilot": say(" brown fox"),
    "code-edit": say("b\n"),
    "code-explain": say("It is a."),
    "commit": say('{"type": "docs", "scope": "tea", "subject": "Say why", "body": "Because."}'),
    "metadata": say(
        '{"title": "Tea", "description": "All of tea.", "keywords": ["tea"], "slug": "tea",'
        ' "og": {"title": "Tea", "description": "Tea!"}}'
    ),
    "seo-fix": say(
        '{"content": "---\\ntitle: Tea\\n---\\n# Tea", "changes": [{"id": "title", "summary": "Added a title"}]}'
    ),
}


def system_of(double: AiDouble) -> str:
    return str(double.last.body["messages"][0]["content"])


def users_text(double: AiDouble) -> str:
    return str(double.last.body["messages"][-1]["content"])


def wait_for(condition: Any, within_s: float = 120) -> None:
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)

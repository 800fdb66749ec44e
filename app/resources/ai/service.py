"""What each AI handler asks a model for and makes of the answer; knows no request and no response."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.beside import Blocks
from app.core.limits import AiLimits
from app.core.threadpool import offload
from app.drivers.ai.port import Message
from app.resources.ai import answering, asking, chatting, diffs, prompts, shapes
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.library import TOOLS, Library

SEO_NAME = "page"


def complete(conversation: Conversation, prompt: str, instructions: str | None) -> dict[str, Any]:
    """The next few words: `{text, finishReason, usage}`."""
    with closing(conversation):
        said = conversation.say(prompts.copilot(prompt, instructions))
    usage = {"inputTokens": said.input_tokens, "outputTokens": said.output_tokens}
    return {
        "text": said.text,
        "finishReason": said.reason,
        "usage": usage | {"totalTokens": said.input_tokens + said.output_tokens},
    }


def chat(
    conversation: Conversation, turns: tuple[Message, ...], project_name: str, *, library: Library, limits: AiLimits
) -> Blocks:
    """A talk about a project, whose files the model may look up."""
    prompt = prompts.chat(turns, TOOLS, project_name, limits.chat_tokens)
    return chatting.talk(conversation, conversation.ask(prompt), prompt, library=library, limits=limits)


def explain(
    conversation: Conversation, code: str, *, language: str | None, path: str | None, question: str | None
) -> Blocks:
    """What a piece of code does."""
    return answering.text(conversation, conversation.ask(prompts.code_explain(code, language, path, question)))


def write_commit(conversation: Conversation, diff: str, locale: str | None) -> dict[str, Any]:
    """A commit message for a diff. Raises InvalidAnswer."""
    with closing(conversation):
        return asking.ask_for(conversation, prompts.commit(diff, locale), shapes.commit_message)


def write_metadata(
    conversation: Conversation,
    content: str,
    *,
    path: str | None,
    locale: str | None,
    front_matter: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The SEO metadata of a page. Raises InvalidAnswer."""
    with closing(conversation):
        prompt = prompts.metadata(content, path, locale, front_matter)
        return asking.ask_for(conversation, prompt, shapes.page_metadata)


def mend_seo(
    conversation: Conversation,
    content: str,
    issues: Sequence[Mapping[str, str]],
    *,
    front_matter: Mapping[str, Any] | None,
    locale: str | None,
) -> dict[str, Any]:
    """A page without its SEO issues, with the diff made here. Raises InvalidAnswer."""
    check = shapes.mended_page([issue["id"] for issue in issues])
    with closing(conversation):
        mended = asking.ask_for(conversation, prompts.seo_fix(content, issues, front_matter, locale), check)
    return mended | {"diff": offload(diffs.unified, SEO_NAME, content, mended["content"])}

"""Calls to the model before the transaction of a route. Changes of code are returned at once or as a stream."""

from typing import Any

from app.access import targets
from app.access.scope import ProjectScope, Scope
from app.concurrency.background import Blocks
from app.core.limits import AiLimits
from app.database import transactions
from app.drivers.ai.port import Prompt
from app.extensions import context_runner, current_settings, db, drivers
from app.models.project import Project
from app.resources.ai import diffs, editor_command, handlers, messages, prompts, responses, streams
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.credentials import CallerCredentials, choose
from app.resources.ai.fence_stripper import FenceStripper
from app.resources.ai.responses import Client, HttpResponse
from app.resources.ai.schemas import requests
from app.resources.ai.tools import ProjectTools
from app.resources.ai.usage_ledger import UsageEntry, UsageMeter

CODE_EDITED = "Code edited"


def limits() -> AiLimits:
    """Return the limits of the AI handlers."""
    return current_settings().limits.ai


def command(scope: Scope, body: requests.EditorCommandBody) -> HttpResponse:
    """Stream the reply to a command of the rich-text editor."""
    requested = editor_command.read(
        body.messages, body.prompt, body.ctx or {}, max_characters=limits().context_characters
    )
    conversation = _conversation(scope, _client(body), "command")
    return _stream(conversation, requested.answer(conversation), _optional_tools(scope))


def copilot(scope: Scope, body: requests.CompleteBody) -> dict[str, Any]:
    """Return the completion of a text."""
    conversation = _conversation(scope, _client(body), "copilot", total_s=limits().copilot_timeout_s)
    return handlers.complete(conversation, body.prompt, body.instructions)


def chat(scope: ProjectScope, body: requests.ChatBody) -> HttpResponse:
    """Stream the reply of a chat about a project."""
    turns = messages.turns(body.messages, max_characters=limits().context_characters)
    tools = _tools(scope, scope.project)
    conversation = _conversation(scope, _client(body), "chat")
    blocks = handlers.chat(conversation, turns, scope.project.name, library=tools, limits=limits())
    return _stream(conversation, blocks, tools)


def code_edit(scope: Scope, body: requests.CodeEditBody) -> HttpResponse:
    """Stream the changed code, or return it as JSON if the client prefers that."""
    prompt = prompts.code_edit(body.code, body.instruction, body.language, body.path)
    client = _client(body)
    conversation = _conversation(scope, client, "code-edit")
    old, path = body.code, body.path or DEFAULT_PATH
    if not client.accepts_stream:
        return responses.json_response(complete(conversation, prompt, old=old, path=path), CODE_EDITED)
    return _stream(conversation, stream(conversation, prompt, old=old, path=path), _optional_tools(scope))


def code_explain(scope: Scope, body: requests.CodeExplainBody) -> HttpResponse:
    """Stream the explanation of a piece of code."""
    conversation = _conversation(scope, _client(body), "code-explain")
    blocks = handlers.explain(conversation, body.code, language=body.language, path=body.path, question=body.question)
    return _stream(conversation, blocks, _optional_tools(scope))


def commit(scope: Scope, body: requests.CommitMessageBody) -> dict[str, Any]:
    """Return a commit message for a diff."""
    return handlers.write_commit(_conversation(scope, _client(body), "commit"), body.diff, body.locale)


def metadata(scope: Scope, body: requests.WriteMetadataBody) -> dict[str, Any]:
    """Return the SEO metadata of a page."""
    return handlers.write_metadata(
        _conversation(scope, _client(body), "metadata"),
        body.content,
        path=body.path,
        locale=body.locale,
        front_matter=body.front_matter,
    )


def seo_fix(scope: Scope, body: requests.FixSeoBody) -> dict[str, Any]:
    """Return a page without its SEO issues."""
    conversation = _conversation(scope, _client(body), "seo-fix")
    return handlers.fix_seo(conversation, body.content, body.issues, front_matter=body.front_matter, locale=body.locale)


def _client(body: requests.AiRequestBody) -> Client:
    return responses.client_of_request(CallerCredentials(body.api_key, body.provider, body.model))


def _conversation(scope: Scope, client: Client, handler: str, *, total_s: float | None = None) -> Conversation:
    """Return a conversation for the caller and release the connection of the request.

    Raises:
        InvalidRequest, KeyRequired: there is no valid key, provider or model.
    """
    settings = current_settings()
    credentials = choose(client.credentials, settings.ai)
    organization = scope.organization
    entry = UsageEntry(
        user_id=scope.user.id,
        organization_id=organization.id if organization is not None else None,
        handler=handler,
        provider=credentials.provider,
        model=credentials.access.model,
        own_key=credentials.own,
    )
    meter = UsageMeter(db.engine, settings.limits.ai, entry)
    transactions.release_connection()
    total_s = total_s or settings.limits.ai.total_timeout_s
    model = drivers.ai[credentials.provider]
    return Conversation(model, credentials, meter, settings.limits.ai, total_s, watch=client.watch)


def _tools(scope: Scope, project: Project) -> ProjectTools:
    """Return the tools for the project that the request names."""
    return ProjectTools(context_runner(), targets.project_of_member, scope.user.id, project.id, drivers.git)


def _optional_tools(scope: Scope) -> ProjectTools | None:
    """Return the tools if the request names a project."""
    return _tools(scope, scope.project) if scope.project is not None else None


def _stream(conversation: Conversation, blocks: Any, tools: ProjectTools | None) -> HttpResponse:
    is_allowed = tools.is_allowed if tools is not None else None
    return responses.event_stream(conversation, blocks, limits(), is_allowed=is_allowed)


DEFAULT_PATH = "code"


def complete(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> dict[str, Any]:
    """Return `{path, code, diff}`.

    Raises:
        AnswerTooLong, InvalidAnswer: the reply is not a complete new text.
    """
    with closing(conversation):
        reply = conversation.complete(prompt)
    stripper = FenceStripper(old)
    stripper.feed(reply.text)
    stripper.end()
    streams.require_complete(reply.reason, stripper.text)
    return {"path": path, "code": stripper.text, "diff": diffs.unified(path, old, stripper.text)}


def stream(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> Blocks:
    """Stream the new text, then the diff."""
    return streams.stream_rewrite(conversation, conversation.stream(prompt), old=old, path=path)

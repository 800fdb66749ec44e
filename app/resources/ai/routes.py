"""Routes of the AI handlers (spec 4.12). They call the model before the transaction: its errors are HTTP statuses."""

from functools import partial

from app.access import targets
from app.access.guards import member_of_named, verified
from app.access.scope import ProjectScope, Scope
from app.access.tokens import READS
from app.concurrency.background import Blocks
from app.core.limits import AiLimits, InputLimits
from app.drivers.ai.port import Prompt
from app.extensions import context_runner, current_settings, drivers
from app.http.blueprint import ApiBlueprint, Header
from app.http.endpoint import GIT_READ, UPSTREAM, endpoint
from app.models.project import Project
from app.resources.ai import diffs, editor_command, handlers, messages, prompts, queries, streams
from app.resources.ai.conversation import Conversation, closing
from app.resources.ai.guards import ASK
from app.resources.ai.responses import HttpResponse, client_of, conversation_for, event_stream, json_response
from app.resources.ai.schemas import requests, results
from app.resources.ai.stream_parsers import FenceStripper
from app.resources.ai.tools import ProjectTools

CODE_EDITED = "Code edited"
DEFAULT_PATH = "code"
BYTES = InputLimits.ai_bytes
MODEL = (
    *UPSTREAM,
    *("AI_KEY_REQUIRED", "AI_KEY_REJECTED", "AI_REFUSED", "AI_OUT_OF_CREDIT", "AI_RATE_LIMITED", "AI_UNAVAILABLE"),
    *("AI_BUDGET_USED", "AI_TOO_MANY_STREAMS", "AI_INVALID_ANSWER", "AI_ANSWER_TOO_LONG"),
)
"""Failures of a call to a language model."""
END_OF_EVENTS = "The stream ends with the text `[DONE]`."
KEY_HEADERS = (
    Header(
        "X-AI-Key",
        "Your key of the AI provider. It is used for this request only. Without it the key of the operator is used, "
        "within your daily budget.",
        {"type": "string", "pattern": "^[!-~]{1,512}$", "maxLength": 512},
    ),
    Header(
        "X-AI-Provider",
        "The AI provider of the key. The default is the provider of the operator.",
        {"type": "string", "enum": ["openai", "anthropic", "gemini", "xai"]},
    ),
    Header(
        "X-AI-Model",
        "The model of the provider.",
        {"type": "string", "pattern": "^[A-Za-z0-9._:/-]{1,80}$", "maxLength": 80},
    ),
)


def limits() -> AiLimits:
    """Return the limits of the AI handlers."""
    return current_settings().limits.ai


def _tools(scope: Scope, project: Project) -> ProjectTools:
    """Return the tools for the project that the request names."""
    return ProjectTools(context_runner(), targets.project_of_member, scope.caller.id, project.id, drivers.git)


def _optional_tools(scope: Scope) -> ProjectTools | None:
    """Return the tools if the request names a project."""
    return _tools(scope, scope.project) if scope.project is not None else None


def _stream(conversation: Conversation, blocks: Blocks, tools: ProjectTools | None) -> HttpResponse:
    is_allowed = tools.is_allowed if tools is not None else None
    return event_stream(conversation, blocks, limits(), is_allowed=is_allowed)


def complete(conversation: Conversation, prompt: Prompt, *, old: str, path: str) -> dict[str, object]:
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


blueprint = ApiBlueprint(
    "ai",
    __name__,
    title="AI",
    description="Writing, completion and chat with a language model.",
    parameters={"chat_id": "The id that the client gave to the chat."},
)
usage_blueprint = ApiBlueprint(
    "ai_usage",
    __name__,
    title="AI usage",
    description="Tokens that a user has used, and the daily budget.",
)


ask = partial(
    endpoint,
    **vars(ASK),
    request_headers=KEY_HEADERS,
    max_bytes=BYTES,
    errors=MODEL,
)
ask_for_events = partial(ask, raw_response=True, events_note=END_OF_EVENTS, message="The answer as a UI message stream")


@blueprint.post("/command")
@ask_for_events(
    operation_id="runEditorCommand",
    body=requests.EditorCommandBody,
    events=results.COMMAND_EVENTS,
    max_bytes=InputLimits.ai_command_bytes,
)
def command(*, scope: Scope, body: requests.EditorCommandBody) -> HttpResponse:
    """Write, rewrite or comment on text of the rich-text editor."""
    requested = editor_command.read(
        body.messages, body.prompt, body.ctx or {}, max_characters=limits().context_characters
    )
    conversation = conversation_for(scope, client_of(body), "command")
    return _stream(conversation, requested.answer(conversation), _optional_tools(scope))


@blueprint.post("/copilot")
@ask(
    operation_id="completeText",
    body=requests.CompleteBody,
    result=results.CompletionSchema,
    rate="ai_copilot",
    message="Completed",
)
def copilot(*, scope: Scope, body: requests.CompleteBody) -> dict[str, object]:
    """Complete a text by at most 50 tokens."""
    conversation = conversation_for(scope, client_of(body), "copilot", total_s=limits().copilot_timeout_s)
    return handlers.complete(conversation, body.prompt, body.instructions)


@blueprint.post("/chat")
@ask_for_events(
    operation_id="chatAboutProject",
    guard=member_of_named(is_required=True),
    body=requests.ChatBody,
    events=results.CHAT_EVENTS,
    errors=(*MODEL, *GIT_READ),
)
def chat(*, scope: ProjectScope, body: requests.ChatBody) -> HttpResponse:
    """Chat about a project, whose files the model may search and read."""
    turns = messages.turns(body.messages, max_characters=limits().context_characters)
    tools = _tools(scope, scope.project)
    conversation = conversation_for(scope, client_of(body), "chat")
    blocks = handlers.chat(conversation, turns, scope.project.name, library=tools, limits=limits())
    return _stream(conversation, blocks, tools)


@blueprint.get("/chat/<chat_id>/stream")
@endpoint(
    guard=verified(token=READS),
    status=204,
    raw_response=True,
    message="There is no stream to resume",
)
def resume_chat(*, scope: Scope) -> HttpResponse:
    """Return 204: the service does not continue an interrupted answer.

    A client of the AI SDK that resumes its chat then waits for the next message.
    """
    return HttpResponse(status=204)


@blueprint.post("/code-edit")
@ask_for_events(
    operation_id="editCode",
    body=requests.CodeEditBody,
    events=results.EDIT_EVENTS,
    result=results.EditedCodeSchema,
    message=CODE_EDITED,
)
def code_edit(*, scope: Scope, body: requests.CodeEditBody) -> HttpResponse:
    """Change code after an instruction. Returns the new text and a diff as a UI message stream or as JSON."""
    prompt = prompts.code_edit(body.code, body.instruction, body.language, body.path)
    client = client_of(body)
    conversation = conversation_for(scope, client, "code-edit")
    old, path = body.code, body.path or DEFAULT_PATH
    if not client.accepts_stream:
        return json_response(complete(conversation, prompt, old=old, path=path), CODE_EDITED)
    return _stream(conversation, stream(conversation, prompt, old=old, path=path), _optional_tools(scope))


@blueprint.post("/code-explain")
@ask_for_events(
    operation_id="explainCode",
    body=requests.CodeExplainBody,
    events=results.TEXT_EVENTS,
)
def code_explain(*, scope: Scope, body: requests.CodeExplainBody) -> HttpResponse:
    """Explain code or a template."""
    conversation = conversation_for(scope, client_of(body), "code-explain")
    blocks = handlers.explain(conversation, body.code, language=body.language, path=body.path, question=body.question)
    return _stream(conversation, blocks, _optional_tools(scope))


@blueprint.post("/commit")
@ask(
    operation_id="suggestCommitMessage",
    body=requests.CommitMessageBody,
    result=results.CommitTextSchema,
    message="Written",
)
def commit(*, scope: Scope, body: requests.CommitMessageBody) -> dict[str, object]:
    """Write a commit message for a diff."""
    return handlers.write_commit(conversation_for(scope, client_of(body), "commit"), body.diff, body.locale)


@blueprint.post("/metadata")
@ask(
    operation_id="suggestMetadata",
    body=requests.WriteMetadataBody,
    result=results.PageMetadataSchema,
    message="Written",
)
def metadata(*, scope: Scope, body: requests.WriteMetadataBody) -> dict[str, object]:
    """Write the SEO metadata of a page."""
    return handlers.write_metadata(
        conversation_for(scope, client_of(body), "metadata"),
        body.content,
        path=body.path,
        locale=body.locale,
        front_matter=body.front_matter,
    )


@blueprint.post("/seo-fix")
@ask(
    operation_id="fixSeoIssues",
    body=requests.FixSeoBody,
    result=results.FixedPageSchema,
    message="Fixed",
)
def seo_fix(*, scope: Scope, body: requests.FixSeoBody) -> dict[str, object]:
    """Fix SEO issues of a page."""
    conversation = conversation_for(scope, client_of(body), "seo-fix")
    return handlers.fix_seo(conversation, body.content, body.issues, front_matter=body.front_matter, locale=body.locale)


@usage_blueprint.get("/usage")
@endpoint(
    operation_id="getAiUsage",
    guard=verified(token=READS),
    result=results.UsageSchema,
    message="Usage of the AI handlers",
)
def used(*, scope: Scope) -> dict[str, object]:
    """Return the caller's token usage and the daily budget."""
    return queries.usage_of_user(scope.caller, limits())

"""Routes of the AI handlers (spec 4.12). `prepare` calls the model, so that its errors are HTTP statuses."""

from typing import Any

from app.access.guards import member_of_named, verified
from app.access.scope import Scope
from app.access.tokens import READS
from app.core.limits import InputLimits
from app.http.blueprint import ApiBlueprint, Header
from app.http.endpoint import endpoint
from app.http.upstream_errors import GIT_READ, UPSTREAM
from app.resources.ai import prepare, queries
from app.resources.ai.responses import HttpResponse
from app.resources.ai.schemas import events, requests, responses

blueprint = ApiBlueprint(
    "ai",
    __name__,
    title="AI",
    description="Writing, completion and chat with a language model.",
)
usage_blueprint = ApiBlueprint(
    "ai_usage",
    __name__,
    title="AI usage",
    description="Tokens that a user has used, and the daily budget.",
)

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


@blueprint.post("/command")
@endpoint(
    guard=member_of_named(),
    body=requests.EditorCommandBody,
    events=events.COMMAND_EVENTS,
    events_note=END_OF_EVENTS,
    prepare=prepare.command,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=InputLimits.ai_command_bytes,
    message="The answer as a UI message stream",
    errors=MODEL,
)
def command(*, scope: Scope, body: requests.EditorCommandBody, prepared: HttpResponse) -> HttpResponse:
    """Write, rewrite or comment on text of the rich-text editor."""
    return prepared


@blueprint.post("/copilot")
@endpoint(
    guard=member_of_named(),
    body=requests.CompleteBody,
    prepare=prepare.copilot,
    result=responses.CompletionSchema,
    rate="ai_copilot",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Completed",
    errors=MODEL,
)
def copilot(*, scope: Scope, body: requests.CompleteBody, prepared: dict[str, Any]) -> dict[str, Any]:
    """Complete a text by at most 50 tokens."""
    return prepared


@blueprint.post("/chat")
@endpoint(
    guard=member_of_named(),
    body=requests.ChatBody,
    events=events.CHAT_EVENTS,
    events_note=END_OF_EVENTS,
    prepare=prepare.chat,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="The answer as a UI message stream",
    errors=(
        *MODEL,
        *GIT_READ,
    ),
)
def chat(*, scope: Scope, body: requests.ChatBody, prepared: HttpResponse) -> HttpResponse:
    """Chat about a project, whose files the model may search and read."""
    return prepared


@blueprint.post("/code-edit")
@endpoint(
    guard=member_of_named(),
    body=requests.CodeEditBody,
    events=events.EDIT_EVENTS,
    events_note=END_OF_EVENTS,
    result=responses.EditedCodeSchema,
    prepare=prepare.code_edit,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message=prepare.CODE_EDITED,
    errors=MODEL,
)
def code_edit(*, scope: Scope, body: requests.CodeEditBody, prepared: HttpResponse) -> HttpResponse:
    """Change code after an instruction. Returns the new text and a diff as a UI message stream or as JSON."""
    return prepared


@blueprint.post("/code-explain")
@endpoint(
    guard=member_of_named(),
    body=requests.CodeExplainBody,
    events=events.TEXT_EVENTS,
    events_note=END_OF_EVENTS,
    prepare=prepare.code_explain,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="The answer as a UI message stream",
    errors=MODEL,
)
def code_explain(*, scope: Scope, body: requests.CodeExplainBody, prepared: HttpResponse) -> HttpResponse:
    """Explain code or a template."""
    return prepared


@blueprint.post("/commit")
@endpoint(
    guard=member_of_named(),
    body=requests.CommitMessageBody,
    prepare=prepare.commit,
    result=responses.CommitTextSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Written",
    errors=MODEL,
)
def commit(*, scope: Scope, body: requests.CommitMessageBody, prepared: dict[str, Any]) -> dict[str, Any]:
    """Write a commit message for a diff."""
    return prepared


@blueprint.post("/metadata")
@endpoint(
    guard=member_of_named(),
    body=requests.WriteMetadataBody,
    prepare=prepare.metadata,
    result=responses.PageMetadataSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Written",
    errors=MODEL,
)
def metadata(*, scope: Scope, body: requests.WriteMetadataBody, prepared: dict[str, Any]) -> dict[str, Any]:
    """Write the SEO metadata of a page."""
    return prepared


@blueprint.post("/seo-fix")
@endpoint(
    guard=member_of_named(),
    body=requests.FixSeoBody,
    prepare=prepare.seo_fix,
    result=responses.FixedPageSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Fixed",
    errors=MODEL,
)
def seo_fix(*, scope: Scope, body: requests.FixSeoBody, prepared: dict[str, Any]) -> dict[str, Any]:
    """Fix SEO issues of a page."""
    return prepared


@usage_blueprint.get("/usage")
@endpoint(guard=verified(token=READS), result=responses.UsageSchema, message="Usage of the AI handlers")
def used(*, scope: Scope) -> dict[str, Any]:
    """Return the caller's token usage and the daily budget."""
    return queries.usage_of_user(scope.user, prepare.limits())

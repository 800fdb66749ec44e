"""Routes of the AI handlers (spec 4.12). `prepare` calls the model, so that its errors are HTTP statuses."""

from typing import Any

from app.access.guards import member_of_named, verified
from app.access.scope import ProjectScope, Scope
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
    outside=True,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=InputLimits.ai_command_bytes,
    message="The answer as a UI message stream",
    errors=MODEL,
)
def command(*, scope: Scope, body: requests.EditorCommandBody) -> HttpResponse:
    """Write, rewrite or comment on text of the rich-text editor."""
    return prepare.command(scope, body)


@blueprint.post("/copilot")
@endpoint(
    guard=member_of_named(),
    body=requests.CompleteBody,
    outside=True,
    result=responses.CompletionSchema,
    rate="ai_copilot",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Completed",
    errors=MODEL,
)
def copilot(*, scope: Scope, body: requests.CompleteBody) -> dict[str, Any]:
    """Complete a text by at most 50 tokens."""
    return prepare.copilot(scope, body)


@blueprint.post("/chat")
@endpoint(
    guard=member_of_named(is_required=True),
    body=requests.ChatBody,
    events=events.CHAT_EVENTS,
    events_note=END_OF_EVENTS,
    outside=True,
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
def chat(*, scope: ProjectScope, body: requests.ChatBody) -> HttpResponse:
    """Chat about a project, whose files the model may search and read."""
    return prepare.chat(scope, body)


@blueprint.post("/code-edit")
@endpoint(
    guard=member_of_named(),
    body=requests.CodeEditBody,
    events=events.EDIT_EVENTS,
    events_note=END_OF_EVENTS,
    result=responses.EditedCodeSchema,
    outside=True,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message=prepare.CODE_EDITED,
    errors=MODEL,
)
def code_edit(*, scope: Scope, body: requests.CodeEditBody) -> HttpResponse:
    """Change code after an instruction. Returns the new text and a diff as a UI message stream or as JSON."""
    return prepare.code_edit(scope, body)


@blueprint.post("/code-explain")
@endpoint(
    guard=member_of_named(),
    body=requests.CodeExplainBody,
    events=events.TEXT_EVENTS,
    events_note=END_OF_EVENTS,
    outside=True,
    raw_response=True,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="The answer as a UI message stream",
    errors=MODEL,
)
def code_explain(*, scope: Scope, body: requests.CodeExplainBody) -> HttpResponse:
    """Explain code or a template."""
    return prepare.code_explain(scope, body)


@blueprint.post("/commit")
@endpoint(
    guard=member_of_named(),
    body=requests.CommitMessageBody,
    outside=True,
    result=responses.CommitTextSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Written",
    errors=MODEL,
)
def commit(*, scope: Scope, body: requests.CommitMessageBody) -> dict[str, Any]:
    """Write a commit message for a diff."""
    return prepare.commit(scope, body)


@blueprint.post("/metadata")
@endpoint(
    guard=member_of_named(),
    body=requests.WriteMetadataBody,
    outside=True,
    result=responses.PageMetadataSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Written",
    errors=MODEL,
)
def metadata(*, scope: Scope, body: requests.WriteMetadataBody) -> dict[str, Any]:
    """Write the SEO metadata of a page."""
    return prepare.metadata(scope, body)


@blueprint.post("/seo-fix")
@endpoint(
    guard=member_of_named(),
    body=requests.FixSeoBody,
    outside=True,
    result=responses.FixedPageSchema,
    rate="ai",
    request_headers=KEY_HEADERS,
    allow_archived=True,
    max_bytes=BYTES,
    message="Fixed",
    errors=MODEL,
)
def seo_fix(*, scope: Scope, body: requests.FixSeoBody) -> dict[str, Any]:
    """Fix SEO issues of a page."""
    return prepare.seo_fix(scope, body)


@usage_blueprint.get("/usage")
@endpoint(guard=verified(token=READS), result=responses.UsageSchema, message="Usage of the AI handlers")
def used(*, scope: Scope) -> dict[str, Any]:
    """Return the caller's token usage and the daily budget."""
    return queries.usage_of_user(scope.user, prepare.limits())

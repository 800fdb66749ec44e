"""The AI handlers (spec 4.12): the model is asked before the view, so that its refusals are plain statuses."""

from typing import Any

from flask import Blueprint, Response, request

from app.core.limits import InputLimits
from app.http.endpoint import endpoint
from app.http.envelope import success
from app.http.guards import member_of_named, verified
from app.http.scope import Scope
from app.resources.ai import bodies, coding, commanding, desk, messages, prompts, schemas, service, usage

blueprint = Blueprint("ai", __name__)
usage_blueprint = Blueprint("ai_usage", __name__)

BYTES = InputLimits.ai_bytes
EDITED = "The code was edited"


def _command(scope: Scope, body: bodies.CommandBody) -> Response:
    wanted = commanding.read(body, most_characters=desk.limits().context_characters)
    talk = desk.conversation(scope, body, "command")
    return desk.stream(talk, wanted.answer(talk), desk.library_if_named(scope))


@blueprint.post("/command")
@endpoint(
    guard=member_of_named(), body=bodies.Command, prepare=_command, raw=True, rate="ai", archived_too=True,
    max_bytes=InputLimits.ai_command_bytes, message="The answer as a UI message stream",
)  # fmt: skip
def command(_scope: Scope, _body: bodies.CommandBody, answer: Response) -> Response:
    """Write, rewrite or comment on text of the rich-text editor."""
    return answer


def _copilot(scope: Scope, body: bodies.CompleteBody) -> dict[str, Any]:
    talk = desk.conversation(scope, body, "copilot", total_s=desk.limits().copilot_timeout_s)
    return service.complete(talk, body["prompt"], body["instructions"])


@blueprint.post("/copilot")
@endpoint(
    guard=member_of_named(), body=bodies.Complete, prepare=_copilot, result=schemas.Completion, rate="ai_copilot",
    archived_too=True, max_bytes=BYTES, message="Completed",
)  # fmt: skip
def copilot(_scope: Scope, _body: bodies.CompleteBody, completion: dict[str, Any]) -> dict[str, Any]:
    """Complete a text by at most 50 tokens."""
    return completion


def _chat(scope: Scope, body: bodies.ChatBody) -> Response:
    turns = messages.turns(body["messages"], most_characters=desk.limits().context_characters)
    files = desk.library(scope)
    talk = desk.conversation(scope, body, "chat")
    blocks = service.chat(talk, turns, scope.project.name, library=files, limits=desk.limits())
    return desk.stream(talk, blocks, files)


@blueprint.post("/chat")
@endpoint(
    guard=member_of_named(), body=bodies.Chat, prepare=_chat, raw=True, rate="ai", archived_too=True,
    max_bytes=BYTES, message="The answer as a UI message stream",
)  # fmt: skip
def chat(_scope: Scope, _body: bodies.ChatBody, answer: Response) -> Response:
    """Talk about a project, whose files the model may search and read."""
    return answer


def _code_edit(scope: Scope, body: bodies.CodeEditBody) -> Response:
    prompt = prompts.code_edit(body["code"], body["instruction"], body["language"], body["path"])
    talk = desk.conversation(scope, body, "code-edit")
    about = {"old": body["code"], "path": body["path"] or coding.NAMELESS}
    if desk.wants_json():
        return success(request, coding.whole(talk, prompt, **about), EDITED)
    return desk.stream(talk, coding.streamed(talk, prompt, **about), desk.library_if_named(scope))


@blueprint.post("/code-edit")
@endpoint(
    guard=member_of_named(), body=bodies.CodeEdit, prepare=_code_edit, raw=True, rate="ai", archived_too=True,
    max_bytes=BYTES, message=EDITED,
)  # fmt: skip
def code_edit(_scope: Scope, _body: bodies.CodeEditBody, answer: Response) -> Response:
    """Change code as told: the new text and a diff, as a UI message stream or, where asked for, as JSON."""
    return answer


def _code_explain(scope: Scope, body: bodies.CodeExplainBody) -> Response:
    talk = desk.conversation(scope, body, "code-explain")
    blocks = service.explain(
        talk, body["code"], language=body["language"], path=body["path"], question=body["question"]
    )
    return desk.stream(talk, blocks, desk.library_if_named(scope))


@blueprint.post("/code-explain")
@endpoint(
    guard=member_of_named(), body=bodies.CodeExplain, prepare=_code_explain, raw=True, rate="ai", archived_too=True,
    max_bytes=BYTES, message="The answer as a UI message stream",
)  # fmt: skip
def code_explain(_scope: Scope, _body: bodies.CodeExplainBody, answer: Response) -> Response:
    """Explain code or a template."""
    return answer


def _commit(scope: Scope, body: bodies.CommitBody) -> dict[str, Any]:
    return service.write_commit(desk.conversation(scope, body, "commit"), body["diff"], body["locale"])


@blueprint.post("/commit")
@endpoint(
    guard=member_of_named(), body=bodies.WriteCommit, prepare=_commit, result=schemas.CommitText, rate="ai",
    archived_too=True, max_bytes=BYTES, message="Written",
)  # fmt: skip
def commit(_scope: Scope, _body: bodies.CommitBody, written: dict[str, Any]) -> dict[str, Any]:
    """Write a commit message for a diff."""
    return written


def _metadata(scope: Scope, body: bodies.MetadataBody) -> dict[str, Any]:
    return service.write_metadata(
        desk.conversation(scope, body, "metadata"),
        body["content"],
        path=body["path"],
        locale=body["locale"],
        front_matter=body.get("front_matter"),
    )


@blueprint.post("/metadata")
@endpoint(
    guard=member_of_named(), body=bodies.WriteMetadata, prepare=_metadata, result=schemas.PageMetadata, rate="ai",
    archived_too=True, max_bytes=BYTES, message="Written",
)  # fmt: skip
def metadata(_scope: Scope, _body: bodies.MetadataBody, written: dict[str, Any]) -> dict[str, Any]:
    """Write the SEO metadata of a page."""
    return written


def _seo_fix(scope: Scope, body: bodies.MendSeoBody) -> dict[str, Any]:
    talk = desk.conversation(scope, body, "seo-fix")
    return service.mend_seo(
        talk, body["content"], body["issues"], front_matter=body["front_matter"], locale=body["locale"]
    )


@blueprint.post("/seo-fix")
@endpoint(
    guard=member_of_named(), body=bodies.MendSeo, prepare=_seo_fix, result=schemas.MendedPage, rate="ai",
    archived_too=True, max_bytes=BYTES, message="Mended",
)  # fmt: skip
def seo_fix(_scope: Scope, _body: bodies.MendSeoBody, mended: dict[str, Any]) -> dict[str, Any]:
    """Mend SEO issues of a page."""
    return mended


@usage_blueprint.get("/usage")
@endpoint(guard=verified(), result=schemas.Usage, message="What your calls to models came to")
def used(scope: Scope) -> dict[str, Any]:
    """Read what the caller's calls to models came to, and what is left of the day's budget."""
    return usage.of_user(scope.actor, desk.limits())

"""Suggestions of the editor: pages to which a link can lead, links to missing pages, and a text of a model."""

from dataclasses import dataclass
from typing import Annotated

from flask import Response
from marshmallow import fields

from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.files.page_source import EDITOR_INPUTS, edited, open_edited
from app.console.files.scope import BASE, EDITOR, MEMBER, EditorScope
from app.console.shell.forms import Form
from app.console.shell.pages import Page
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.core.errors import InvalidRequest
from app.extensions import current_settings
from app.http.actions import run
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.resources.ai import diffs, handlers
from app.resources.ai.credentials import CallerCredentials, choose
from app.resources.ai.errors import KeyRequired
from app.resources.ai.guards import ASK
from app.resources.ai.responses import client_of, conversation_for
from app.resources.ai.schemas.requests import DIFF_CHARACTERS, CommitMessageBody
from app.resources.project_content.search.link_targets import pages_to_link
from app.resources.project_content.search.missing_links import missing_links


def is_configured() -> bool:
    """Return whether the operator has configured a model."""
    try:
        choose(CallerCredentials(None, None, None), current_settings().ai)
    except KeyRequired:
        return False
    return True


@blueprint.post(f"{BASE}/suggest-message/<path:file>")
@Page(guard=EDITOR, inputs=EDITOR_INPUTS)
def suggest_message(*, scope: EditorScope, form: Form) -> Response:
    """Return a description of the changes of the editor's form as JSON: `text`."""
    path = scope.path["file"]
    opened = open_edited(scope, form)
    diff = diffs.unified(path, opened.data.decode(), edited(opened, form).decode())
    if not diff:
        raise InvalidRequest(_("Nothing was changed"))
    body = CommitMessageBody.loaded({"diff": diff[:DIFF_CHARACTERS], "locale": current_language()})

    def suggest(scope: Scope) -> dict[str, object]:
        return handlers.write_commit(conversation_for(scope, client_of(body), "commit"), body.diff, body.locale)

    return json_response({"text": run(suggest, scope.path, ASK)["subject"]}, 200)


@dataclass(frozen=True, kw_only=True)
class LinkQuery(RequestQuery):
    """The page that contains the link, and words of the title of another page."""

    file: Annotated[str, fields.String(load_default="", validate=Length(max=1_024))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]


@blueprint.get(f"{BASE}/links")
@Page(guard=MEMBER, query=LinkQuery)
def find_pages(*, scope: ProjectScope, query: LinkQuery) -> Response:
    """Return the pages whose title or file name contains some words as JSON: `pages` with title, path and link."""
    pages = pages_to_link(scope.project, scope.index, query.file, query.q)
    return json_response({"pages": [vars(target) for target in pages]}, 200)


@blueprint.post(f"{BASE}/check-links/<path:file>")
@Page(guard=MEMBER, inputs=("body",))
def check_links(*, scope: ProjectScope, form: Form) -> Response:
    """Return the message about links of a text to missing pages as a part of the editor."""
    path = scope.path["file"]
    return page(
        "project/missing_links.html", missing=missing_links(scope.project, scope.index, path, form.text("body"))
    )

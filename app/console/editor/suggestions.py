"""AI suggestions of the editor: whether they are available, and a text for the history."""

from flask import Response

from app.access.scope import Scope
from app.console.blueprint import blueprint
from app.console.files.page_source import EDITOR_INPUTS, edited, open_edited
from app.console.files.scope import BASE, EDITOR, EditorScope
from app.console.shell.forms import Form
from app.console.shell.pages import Page
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.core.errors import InvalidRequest
from app.extensions import current_settings
from app.http.actions import run
from app.http.envelope import json_response
from app.resources.ai import diffs, handlers
from app.resources.ai.credentials import CallerCredentials, choose
from app.resources.ai.errors import KeyRequired
from app.resources.ai.guards import ASK
from app.resources.ai.responses import client_of, conversation_for
from app.resources.ai.schemas.requests import DIFF_CHARACTERS, CommitMessageBody


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

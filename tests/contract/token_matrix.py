"""Execution of the table of API tokens through the test client."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flask import Flask

from app.core.api_tokens import TokenScope
from app.security.secrets import new_api_token
from tests.contract.expected import Expected, fits
from tests.contract.matrix import Matrix, Tally, filled, opened
from tests.contract.requests import SPOILS, arguments, ids_of
from tests.contract.scene import Scene
from tests.contract.token_table import SESSION, TOKEN_CALLERS, needed, reach, token_cells
from tests.support.tokens import Program

NO_BODY = ("/git-provider/create", "/git-provider/rotate", "/provider/create")


class TokenMatrix:
    """The authorization table for tokens of the owner of O."""

    def __init__(self, app: Flask, source: Path, *, whole: bool = True) -> None:
        self.app, self.source = app, source
        self.matrix = Matrix(app, source, whole=whole)
        self.rows = self.matrix.rows

    def cells(self, rows: Iterable[Expected] | None = None, callers: Iterable[str] = TOKEN_CALLERS) -> Tally:
        """Call every endpoint with every token."""
        tally, callers = Tally(), tuple(callers)
        for row in self.rows if rows is None else rows:
            cells = token_cells(row)
            for name in callers:
                cell = "400" if row.empty_body and cells[name] in ("200", "2xx") else cells[name]
                tally.note(f"{row.method} {row.path} with {name}", self.status(row, name, cell), cell)
        return tally

    def status(self, row: Expected, name: str, cell: str) -> int:
        """Send the request of a row with a new token of the kind. A request that changes the scene has its own."""
        key = (row.method, row.path)
        scene = Scene(self.app, self.source) if key in SPOILS and fits(200, cell) else self.matrix.scene
        who = scene.owner.again()
        path = filled(row.path, ids_of(scene, key, who))
        request_arguments: dict[str, Any] = arguments(scene, key, who)
        headers = {"Authorization": f"Bearer {_secret(scene, row, name)}"} | request_arguments.pop("headers", {})
        program = Program(self.app, "")
        if state := who.client.get_cookie("login_browser"):
            program.client.set_cookie("login_browser", state.value)
        return opened(program, row.method, path, request_arguments | {"headers": headers}).status_code


def _secret(scene: Scene, row: Expected, name: str) -> str:
    """Create a token that is correct for the endpoint except for the property that `name` states."""
    if name == "unknown":
        return new_api_token()
    scopes = [TokenScope(needed(row))] if needed(row) in list(TokenScope) else list(TokenScope)
    if name == "wrong_scope" and needed(row) != SESSION:
        scopes = [scope for scope in TokenScope if scope not in scopes]
    projects = [scene.project, scene.remote_project] if reach(row).project else None
    if name == "wrong_project":
        projects = [scene.project_other]
    accounts = {"service_account": scene.org, "wrong_organization": scene.org2, "former_member": scene.org_other}
    return scene.token(
        *scopes,
        projects=None if name in ("wrong_organization", "former_member") else projects,
        organization=accounts.get(name),
        days=-1 if name == "expired" else 1,
        revoked=name == "revoked",
    ).secret

"""Scene of fuzzed requests: the one of the authorization table, replaced when a request has changed it."""

import os
import re
from pathlib import Path
from typing import Any

from flask import Flask

from tests.contract.matrix import VARIABLE, Matrix
from tests.contract.requests import AI, DOUBLES, SPOILS, Key, arguments, ids_of
from tests.contract.scene import Scene
from tests.contract.served import served
from tests.support.world import Browser, World

LONG = bool(os.environ.get("GALLEY_LONG"))
SEED = int(os.environ.get("GALLEY_SEED", "7"))
CALLERS = ("anonymous", "editor", "owner")
UNVERSIONED = ("/healthz", "/readyz", "/metrics", "/media/", "/api/")
_HANDLERS = ("chat", "command", "copilot", "commit", "metadata", "code-edit", "code-explain", "seo-fix")
OUTSIDE = frozenset(
    {
        (("POST", "/auth/sign-in/social"), 503),
        (("POST", "/api/ai/seo-fix"), 502),
        *((("POST", f"{AI}{name}"), 503) for name in _HANDLERS),
    }
)
"""Errors of the doubles: the second social provider and three of the AI providers do not exist, and the model returns one
fixed answer."""

_CHANGES = re.compile(r"/(organization|project|user|auth|bucket/delete)\b(?!-)")
_CONTENT = ("/project-content/", "/project-draft/", "/project-log/")


class Stage:
    """The scene and the parts of its requests. `key` is always (method, path in the notation of the specification)."""

    def __init__(self, app: Flask, source: Path) -> None:
        self.app, self.source = app, source
        self.routes = served(app)
        self.scene = Matrix(app, source).scene
        self._indexed = True

    def prepare(self, key: Key) -> None:
        """Index the content for routes that read it, and prepare the model's answer."""
        if key[1].startswith(AI):
            arguments(self.scene, key, self.scene.owner)
        if key[1].startswith(_CONTENT) and not self._indexed:
            World(self.app).work_off(within_s=600)
            self._indexed = True

    def note(self, key: Key, status: int) -> None:
        """Create a new scene if the response shows a change of the present one."""
        if status >= 300 or key[0] == "GET":
            return
        if key in SPOILS or key in DOUBLES or (key[0] != "POST" and _CHANGES.match(key[1])):
            served_key, self.scene = self.scene.served_key, Scene(self.app, self.source)
            self.scene.served_key, self._indexed = served_key, False

    def caller(self, name: str) -> Browser:
        """Return a caller of the scene."""
        return self.scene.caller(name)

    def ids(self, key: Key, who: Browser) -> dict[str, str]:
        """Return existing ids for the variables of a path."""
        return ids_of(self.scene, key, who)

    def valid(self, key: Key, who: Browser) -> dict[str, Any]:
        """Return the arguments of `werkzeug.test.Client.open` for a permitted request of this caller."""
        path = VARIABLE.sub(lambda match: self.ids(key, who).get(match[1], "1"), key[1])
        return {"method": key[0], "path": address(path)} | arguments(self.scene, key, who)


def address(path: str) -> str:
    """Return the served path of a path of the specification."""
    return path if path == "/" or path.startswith(UNVERSIONED) else f"/api/v1{path}"

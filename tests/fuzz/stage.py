"""Where fuzzed requests play: the authorization table's scene, replaced by a new one as soon as a request has spoilt it."""

import os
import re
from pathlib import Path
from typing import Any

from flask import Flask

from tests.contract.matrix import VARIABLE, Matrix
from tests.contract.requests import AI, DOUBLES, SPOILS, Key, arguments, ids_of
from tests.contract.scene import Scene
from tests.contract.served import served
from tests.world import Browser, World

LONG = bool(os.environ.get("GALLEY_LONG"))
SEED = int(os.environ.get("GALLEY_SEED", "7"))
CALLERS = ("anonymous", "editor", "owner")
UNVERSIONED = ("/healthz", "/readyz", "/metrics", "/media/", "/api/")
OUTSIDE = frozenset({(("POST", "/auth/sign-in/social"), 503), (("POST", "/api/ai/seo-fix"), 502)})
"""Answers about the outer world of the tests: its second social provider is not there, and its model says one thing only."""

_CHANGES = re.compile(r"/(organization|project|user|auth|bucket/delete)\b(?!-)")
_CONTENT = ("/project-content/", "/project-draft/", "/project-log/")


class Stage:
    """The scene and what requests in it are made of; `key` is always (method, path as the specification writes it)."""

    def __init__(self, app: Flask, source: Path) -> None:
        self.app, self.source = app, source
        self.routes = served(app)
        self.scene = Matrix(app, source).scene
        self._indexed = True

    def prepare(self, key: Key) -> None:
        """Have the content indexed where a route tells of it, and the model answer what its handler asks for."""
        if key[1].startswith(AI):
            arguments(self.scene, key, self.scene.owner)
        if key[1].startswith(_CONTENT) and not self._indexed:
            World(self.app).work_off(within_s=600)
            self._indexed = True

    def note(self, key: Key, status: int) -> None:
        """Make a new scene when this answer means that the old one is no longer what it was."""
        if status >= 300 or key[0] == "GET":
            return
        if key in SPOILS or key in DOUBLES or (key[0] != "POST" and _CHANGES.match(key[1])):
            served_key, self.scene = self.scene.served_key, Scene(self.app, self.source)
            self.scene.served_key, self._indexed = served_key, False

    def caller(self, name: str) -> Browser:
        """Somebody of the scene."""
        return self.scene.caller(name)

    def ids(self, key: Key, who: Browser) -> dict[str, str]:
        """Real ids for the variables of a path."""
        return ids_of(self.scene, key, who)

    def valid(self, key: Key, who: Browser) -> dict[str, Any]:
        """A request that this caller may send: what `werkzeug.test.Client.open` takes, path included."""
        path = VARIABLE.sub(lambda match: self.ids(key, who).get(match[1], "1"), key[1])
        return {"method": key[0], "path": address(path)} | arguments(self.scene, key, who)


def address(path: str) -> str:
    """Where a path of the specification is served."""
    return path if path == "/" or path.startswith(UNVERSIONED) else f"/api/v1{path}"

"""Recording of the examples of the OpenAPI document from requests of the owner of the scene."""

import json
import re
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.contract.example_requests import VARIANTS, requests_of
from tests.contract.matrix import filled, opened
from tests.contract.requests import DOUBLES, SPOILS, Key, ids_of
from tests.contract.scene import PASSWORD, Scene
from tests.resources.bucket.uploads import upload
from tests.support.assertions.document_paths import document_paths
from tests.support.world import World

ID = re.compile(r"\b([a-z]{3,4})_[0-7][0-9a-hjkmnp-tv-z]{25}\b")
ADDRESS = re.compile(r"\b([a-z-]+)-?[0-9a-f]{12}@mail\.example\.org")
SHA = re.compile(r"\b[0-9a-f]{40}\b")
LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|localhost)(?::\d+)?")
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT[0-9:.]+(Z|\+00:00)")
HEX = re.compile(r"\b([Rr]|Org |Project |acme/r)?[0-9a-f]{12}\b")
RANDOM = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16})\b")
LOGIN = re.compile(r"\bl(?=[a-z0-9]*\d)[a-z0-9]{12}\b", re.IGNORECASE)
SECRET = re.compile(r"([?&](?:state|token|preview_token|code_challenge|nonce|s)=)[^&\"#]+")
API_TOKEN = re.compile(r"glly_[0-9A-Za-z]{49}")
LIST_LENGTH = 3
TEXT_LINES = 6
CALLERS = {"getOrderSummary": "platform_admin", "leaveOrganization": "admin"}
"""Callers of operations that refuse the owner."""

WRITTEN = frozenset({"receiveBillingWebhook", "receiveProviderAWebhook", "receiveProviderBWebhook"})
"""Operations whose examples are written by hand, because they need a signature."""


class Recorder:
    """Sends one request per operation and normalises random values."""

    def __init__(self, app: Flask, source: Path) -> None:
        self.app, self.source = app, source
        self.problems: list[str] = []
        self.scene = self._scene()

    def _scene(self) -> Scene:
        scene = Scene(self.app, self.source)
        World(self.app).work_off()
        scene.served_key = upload(scene.owner).ok(201)["key"]
        return scene

    def record(self, method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
        """Return `{request, responses}` of one operation, with one response for each status and media type."""
        scene, key, name = self.scene, self._key(method, path), operation["operationId"]
        if key in SPOILS or method == "delete" or name in VARIANTS:
            scene = self._scene()
        who = scene.double("owner") if key in DOUBLES else scene.caller("owner")
        who = scene.caller(CALLERS[name]) if name in CALLERS else who
        ids = ids_of(scene, key, who)
        if name == "deleteUser":
            who = scene.double("owner")
            ids["id"] = getattr(who, "id", "")
        example: dict[str, Any] = {"responses": {}}
        for sent in requests_of(name, scene, key, who):
            response = opened(who, key[0], filled(key[1], ids), sent)
            if response.status_code >= 300:
                self.problems.append(f"{key}: {response.status_code} {response.get_data(as_text=True)[:300]}")
                continue
            if "json" in sent and "requestBody" in operation:
                example.setdefault("request", sent["json"])
            elif "data" in sent:
                example["request"] = {"folder": "users", "file": "(bytes of an image)"}
            status = str(response.status_code)
            declared = operation["responses"].get(status, {}).get("content", {})
            # A range such as `*/*` stands for the type of the file.
            for media_type in [response.mimetype] if response.mimetype in declared else declared:
                example["responses"].setdefault(status, {}).setdefault(media_type, content_of(response))
        return json.loads(normalised(json.dumps(shortened(dict(sorted(example.items()))), ensure_ascii=False)))

    def _key(self, method: str, path: str) -> Key:
        """Return the key of the request data. It contains the names of the variables as served."""
        paths = document_paths(self.app)
        for rule in self.app.url_map.iter_rules():
            if paths.get(str(rule)) == path and method.upper() in (rule.methods or ()):
                text = re.sub(r"<(?:[^:>]+:)?([^>]+)>", r":\1", str(rule))
                return method.upper(), text.removeprefix("/api/v1")
        raise LookupError((method, path))


def content_of(response: TestResponse) -> Any:
    """Return the value of a JSON response, the first and the last events of a stream, or the first lines of a text."""
    text = response.get_data(as_text=True)
    if response.mimetype == "text/event-stream":
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        events = [json.loads(line) for line in lines if line != "[DONE]"]
        return events if len(events) <= LIST_LENGTH else [*events[: LIST_LENGTH - 1], events[-1]]
    if response.is_json:
        return response.get_json()
    return "".join(text.splitlines(keepends=True)[:TEXT_LINES])


def shortened(value: Any) -> Any:
    """Return a value whose lists have at most three items."""
    if isinstance(value, list):
        return [shortened(item) for item in value[:LIST_LENGTH]]
    return {name: shortened(item) for name, item in value.items()} if isinstance(value, dict) else value


def normalised(text: str) -> str:
    """Replace ids, addresses, times and secrets of a run by fixed values."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> int:
        return numbers.setdefault(match[0], len(numbers) + 1)

    text = ID.sub(lambda match: f"{match[1]}_01jcq8m4w{number(match):017d}", text)
    text = SHA.sub(lambda match: f"{number(match):02d}" + "5f2c9a1b7e3d4068" * 2 + "5f2c9a", text)
    text = RANDOM.sub(lambda match: f"{number(match):02d}{'5f2c9a1b7e3d4068' * 4}"[: len(match[0])], text)
    text = LOGIN.sub("octavia", text)
    text = ADDRESS.sub(lambda match: f"{match[1].rstrip('-')}@example.org", text)
    text = LOOPBACK.sub("https://galley.example.org", text)
    text = text.replace(PASSWORD, "Tidal-Lantern-Meadow")
    text = API_TOKEN.sub("glly_…", text)
    text = SECRET.sub(r"\1…", text)
    text = HEX.sub(lambda match: f"{match[1] or 'name-'}{number(match)}", text)
    return TIME.sub("2026-03-02T09:30:00.000Z", text)

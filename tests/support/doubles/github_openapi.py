"""Validation of requests against the OpenAPI description of GitHub (the npm package @octokit/openapi)."""

import functools
import json
import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from tests.support.doubles.server import Call

PACKAGE, VERSION = "@octokit/openapi", "23.0.2"
MEMBER = "package/generated/api.github.com.json"


@functools.cache
def description() -> "Description | None":
    """Return the description, downloaded once per machine, or None if npm fails. Under CI the error is raised."""
    kept = Path(tempfile.gettempdir()) / f"galley-openapi-{os.getuid()}" / f"github-{VERSION}.json"
    if not kept.exists():
        try:
            _fetch(kept)
        except (OSError, subprocess.SubprocessError, KeyError):
            if os.environ.get("CI"):
                raise
            return None
    return Description(json.loads(kept.read_bytes()))


def required() -> "Description":
    """Return the description. Skip the test without it."""
    found = description()
    if found is None:
        pytest.skip(f"npm cannot fetch {PACKAGE}@{VERSION}, so requests are not checked against it")
    return found


def _fetch(kept: Path) -> None:
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        command = ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}", "--pack-destination", scratch]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
            member = archive.extractfile(MEMBER)
            if member is None:
                raise KeyError(MEMBER)
            part = Path(scratch) / "part"
            part.write_bytes(member.read())
        part.rename(kept)


class Description:
    """An OpenAPI 3.0 description that validates single requests and replies."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        # The template with the fewest variables has priority.
        templates = sorted(document["paths"], key=lambda path: (path.count("{"), -len(path)))
        self._paths = [(_pattern(template), template) for template in templates]

    def faults(self, call: Call, path: str) -> list[str]:
        """Return the faults of a request. `path` is that of the API, without the prefix of the double."""
        found = self._operation(call.method, path)
        if found is None:
            return [f"{call.method} {path}: GitHub has no such call"]
        template, operation = found
        faults = [*self._query_faults(call, template, operation), *self._body_faults(call, operation)]
        return [f"{call.method} {template}: {fault}" for fault in faults]

    def reply_faults(self, call: Call, path: str, status: int, body: Any) -> list[str]:
        """Return the faults of a JSON reply."""
        found = self._operation(call.method, path)
        if found is None:
            return []
        template, operation = found
        reply = operation["responses"].get(str(status))
        if reply is None:
            return [f"{call.method} {template}: GitHub does not answer {status}"]
        schema = self._resolved(reply).get("content", {}).get("application/json", {}).get("schema")
        return [f"{call.method} {template} {status}: {fault}" for fault in self._schema_faults(schema, body)]

    def _operation(self, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
        for pattern, template in self._paths:
            operation = self._document["paths"][template].get(method.lower())
            if operation and pattern.fullmatch(path):
                return template, operation
        return None

    def _query_faults(self, call: Call, template: str, operation: dict[str, Any]) -> list[str]:
        known = {
            each["name"]: each for each in map(self._resolved, operation.get("parameters", [])) if each["in"] == "query"
        }
        faults = [f"unknown query parameter {name}" for name in call.query if name not in known]
        faults += [
            f"missing query parameter {n}" for n, each in known.items() if each.get("required") and n not in call.query
        ]
        for name in set(call.query) & set(known):
            value = unquote(call.query[name][0])
            schema = self._resolved(known[name]["schema"])
            parsed: Any = int(value) if schema.get("type") == "integer" and value.isdecimal() else value
            faults += [f"{name}: {fault}" for fault in self._schema_faults(schema, parsed)]
        return faults

    def _body_faults(self, call: Call, operation: dict[str, Any]) -> list[str]:
        if "requestBody" not in operation:
            return ["takes no body"] if call.body else []
        expected = self._resolved(operation["requestBody"])
        if not call.body:
            return ["needs a body"] if expected.get("required") else []
        return self._schema_faults(expected["content"]["application/json"]["schema"], call.data)

    def _schema_faults(self, schema: dict[str, Any] | None, value: Any) -> list[str]:
        if schema is None:
            return []
        resolver = jsonschema.validators.validator_for({}, jsonschema.Draft4Validator)
        validator = resolver(_nullable(self._inlined(schema, 0)))
        return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in validator.iter_errors(value)]

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self._document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name.replace("~1", "/").replace("~0", "~")]
            part = found
        return part

    def _inlined(self, part: Any, depth: int) -> Any:
        """Return a schema without references. Schemas below the depth limit accept any value."""
        if isinstance(part, list):
            return [self._inlined(each, depth) for each in part]
        if not isinstance(part, dict):
            return part
        if depth > 12:
            return {}
        part = self._resolved(part)
        return {
            name: self._inlined(value, depth + 1) for name, value in part.items() if name not in ("example", "examples")
        }


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]+\})", template)
    # GitHub marks parameters with slashes as x-multi-segment.
    held = {"{ref}": ".+", "{path}": ".+", "{basehead}": ".+"}
    return re.compile("".join(held.get(part, "[^/]+") if part.startswith("{") else re.escape(part) for part in parts))


def _nullable(schema: Any) -> Any:
    """Return the schema with `nullable` of OpenAPI 3.0 converted to JSON Schema."""
    if isinstance(schema, list):
        return [_nullable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    turned = {name: _nullable(value) for name, value in schema.items() if name != "nullable"}
    return {"anyOf": [{"type": "null"}, turned]} if schema.get("nullable") is True else turned

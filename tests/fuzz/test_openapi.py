"""Requests generated from the OpenAPI document, valid and invalid: the document describes every response.

`GALLEY_LONG=1` sends at least 20,000 to all operations instead of a few hundred to some, which differ between the databases.
`GALLEY_SEED` selects others.
"""

import collections
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.contract.requests import BODIES, Key
from tests.fuzz.stage import CALLERS, LONG, OUTSIDE, SEED, Stage
from tests.support.world import Person

RULES = Path(__file__).parents[2] / "docs" / "api" / "rules.md"
CASES = int(os.environ.get("GALLEY_CASES", "110" if LONG else "3"))
SHARE = 1.0 if LONG else 0.06
TEXT_CHARACTERS = 500
NAMED = (
    "org_id", "projectId", "repository", "branch", "base_sha", "member_id", "email", "provider", "subscription_id",
    "head", "base", "file", "files", "messages", "plan", "role", "currentPassword", "newPassword",
)  # fmt: skip
REFUSALS = frozenset({400, 405, 406, 412, 413, 414, 415, 416, 422, 428, 431})
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance,
]  # fmt: skip


# Schemathesis compares the lines of an event with the schema, which describes the JSON of its `data`.
STREAM_CHECKS = [check for check in CHECKS if check is not response_schema_conformance]


def is_stream(response: Any) -> bool:
    """Return whether a response consists of server-sent events."""
    return any(value.startswith("text/event-stream") for value in response.headers.get("content-type", ()))


class Fuzz:
    """A sender of generated requests that stores one example of each kind of error."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.sent = stage, 0
        self.statuses: collections.Counter[int] = collections.Counter()
        self.wrong: dict[str, str] = {}

    def try_out(self, operation: Any, key: Key, cases: int) -> None:
        """Send `cases` valid and as many invalid requests to one operation, each as one of the callers."""
        self.stage.prepare(key)
        for mode in GenerationMode:

            @hypothesis.seed(SEED)
            @hypothesis.settings(
                max_examples=cases, deadline=None, database=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @hypothesis.given(operation.as_strategy(generation_mode=mode), st.sampled_from(CALLERS), st.integers(0, 7))
            def send(case: Any, name: str, real: int) -> None:
                self._send(case, key, name, real)

            try:
                send()
            except hypothesis.errors.Unsatisfiable:
                continue  # An operation without parameters and body has no invalid request.

    def _send(self, case: Any, key: Key, name: str, real: int) -> None:
        who = self.stage.caller(name)
        if real:
            case.path_parameters = dict(case.path_parameters or {}) | {
                variable: value
                for variable, value in self.stage.ids(key, who).items()
                if variable in (case.path_parameters or {})
            }
        if real > 2 and key in BODIES and isinstance(case.body, dict):
            valid = BODIES[key](self.stage.scene, who)
            case.body = {**case.body, **{field: valid[field] for field in NAMED if field in valid}}
        cookies = {"session_token": who.token} if isinstance(who, Person) else {}
        try:
            response = case.call(cookies=cookies, headers={"Accept-Encoding": "identity"})
            self.sent += 1
            self.statuses[response.status_code] += 1
            self.stage.note(key, response.status_code)
            if (key, response.status_code) in OUTSIDE:
                return
            case.validate_response(response, checks=STREAM_CHECKS if is_stream(response) else CHECKS)
        except FailureGroup as group:
            for failure in group.exceptions:
                self._record(key, name, case, type(failure).__name__, f"{failure.title}: {failure.message}")
        except Exception as error:  # An exception that the application did not convert to a response.
            self._record(key, name, case, type(error).__name__, repr(error))

    def _record(self, key: Key, name: str, case: Any, kind: str, told: str) -> None:
        self.wrong.setdefault(
            f"{key[0]} {key[1]} {kind} {told.splitlines()[0][:100]}",
            f"as {name}: {told[:600]}\n  path {case.path_parameters!r} query {case.query!r} body {case.body!r}"[:1800],
        )


class Rules:
    """The refusals of `docs/api/rules.md` that OpenAPI cannot describe."""

    def __init__(self, page: str) -> None:
        self.rows: list[tuple[set[str], str, set[str]]] = []
        for line in page.partition("## Refusals")[2].splitlines():
            cells = [re.findall("`([^`]+)`", cell) for cell in line.strip("|").split("|")[:-1]]
            *operations, code, names = cells if len(cells) > 1 else [[], []]
            if code:
                self.rows.append((set(*operations), code[0], set(names)))

    def contain(self, key: Key, failure: dict[str, Any]) -> bool:
        """Return whether rules describe a failure and all fields that it names."""
        rows = [
            names for keys, code, names in self.rows if code == failure["code"] and (not keys or " ".join(key) in keys)
        ]
        if any(not names for names in rows):
            return True
        known = set().union(*rows)
        parts = [set(re.findall(r"\w+", one["path"])) for one in failure["errorMessage"]]
        return bool(parts) and all(part & known for part in parts)


class ValidRequests(Fuzz):
    """A sender of valid requests of an owner with existing ids. It stores refusals that the rules do not contain."""

    def __init__(self, stage: Stage, rules: Rules) -> None:
        super().__init__(stage)
        self.rules = rules

    def try_out(self, operation: Any, key: Key, cases: int) -> None:
        """Send `cases` valid requests to one operation."""
        self.stage.prepare(key)

        @hypothesis.seed(SEED)
        @hypothesis.settings(
            max_examples=cases, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @hypothesis.given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE), st.booleans())
        def send(case: Any, real: bool) -> None:
            self._send_valid(case, key, real=real)

        send()

    def _send_valid(self, case: Any, key: Key, *, real: bool) -> None:
        owner = self.stage.caller("owner")
        ids, variables = self.stage.ids(key, owner), case.path_parameters or {}
        case.path_parameters = {**variables, **{name: ids[name] for name in variables if name in ids}}
        if real and key in BODIES and isinstance(case.body, dict):
            valid, body = BODIES[key](self.stage.scene, owner), case.body
            # An empty text counts as absent.
            sent = [name for name in NAMED if name in valid and body.get(name) not in (None, "")]
            case.body = {**body, **{name: valid[name] for name in sent}}
        cookies = {"session_token": owner.token} if isinstance(owner, Person) else {}
        response = case.call(cookies=cookies, headers={"Accept-Encoding": "identity"})
        self.sent += 1
        self.statuses[response.status_code] += 1
        self.stage.note(key, response.status_code)
        if response.status_code in REFUSALS and not self.rules.contain(key, response.json()):
            failure = response.json()
            fields = [re.sub("[0-9]+", "N", one["path"]) for one in failure["errorMessage"]]
            self._record(key, "owner", case, failure["code"], f"{fields} {failure}")


@pytest.fixture
def document(app: Flask) -> Any:
    """Return the served document without generated session cookies."""
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)
    schema.config.generation.update(with_security_parameters=False)
    if not LONG:
        _shorten_texts(schema.raw_schema["components"]["schemas"])
    return schema


@pytest.fixture
def dice(store: str) -> random.Random:
    """Return the generator that selects the operations of a database."""
    return random.Random(SEED + store.startswith("postgresql"))


def _shorten_texts(components: dict[str, Any]) -> None:
    """Lower the greatest length of generated texts with a pattern: 64,000 characters take 400 MB of memory."""
    for component in components.values():
        for field in component.get("properties", {}).values():
            if "pattern" in field and field.get("maxLength", 0) > TEXT_CHARACTERS:
                field["maxLength"] = TEXT_CHARACTERS


def operations(document: Any, stage: Stage) -> Iterator[tuple[Any, Key]]:
    """Return every operation of the document with its key."""
    for found in document.get_all_operations():
        operation = found.ok()
        path = operation.path.replace("{", ":").replace("}", "").removeprefix("/api/v1")
        yield operation, (operation.method.upper(), path)


class TestDocument:
    def test_generated_requests_return_documented_responses(
        self, document: Any, stage: Stage, dice: random.Random, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fuzz = Fuzz(stage)
        for operation, key in operations(document, stage):
            if dice.random() < SHARE:
                fuzz.try_out(operation, key, CASES)
        with capsys.disabled():
            print(f"\nseed {SEED}: {fuzz.sent} cases, answers {dict(sorted(fuzz.statuses.items()))}")
            print(f"kinds of wrong answers: {len(fuzz.wrong)}")
        assert not fuzz.wrong, "\n\n".join(f"{kind}\n  {told}" for kind, told in sorted(fuzz.wrong.items()))

    def test_valid_requests_are_refused_by_listed_rules_only(
        self, document: Any, stage: Stage, dice: random.Random, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fuzz = ValidRequests(stage, Rules(RULES.read_text(encoding="utf-8")))
        for operation, key in operations(document, stage):
            if dice.random() < SHARE:
                fuzz.try_out(operation, key, CASES)
        with capsys.disabled():
            print(f"\nseed {SEED}: {fuzz.sent} valid requests, answers {dict(sorted(fuzz.statuses.items()))}")
        assert fuzz.statuses[200] > fuzz.sent // 10
        assert not fuzz.wrong, "\n\n".join(f"{kind}\n  {told}" for kind, told in sorted(fuzz.wrong.items()))

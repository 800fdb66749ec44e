"""Tests of the validation of requests against the API description of GitHub."""

import json

import pytest

from tests.support.doubles.github_openapi import Description, required
from tests.support.doubles.server import Call


@pytest.fixture(scope="module")
def github() -> Description:
    return required()


def call(method: str, query: dict[str, str] | None = None, body: object = None) -> Call:
    data = b"" if body is None else json.dumps(body).encode()
    asked = {name: [value] for name, value in (query or {}).items()}
    return Call(method, "/", asked, {"Content-Type": "application/json"}, data)


class TestFaults:
    @pytest.mark.parametrize(
        ("made", "path"),
        [
            (call("GET", {"recursive": "1"}), "/repos/o/r/git/trees/abc"),
            (call("GET", {"per_page": "100", "page": "2"}), "/repos/o/r/branches"),
            (call("GET"), "/repos/o/r/git/ref/heads/work/one"),
            (call("POST", body={"content": "aGk=", "encoding": "base64"}), "/repos/o/r/git/blobs"),
            (call("PATCH", body={"sha": "0" * 40, "force": False}), "/repos/o/r/git/refs/heads/main"),
        ],
    )
    def test_valid_request_has_no_faults(self, github: Description, made: Call, path: str) -> None:
        assert github.faults(made, path) == []

    @pytest.mark.parametrize(
        ("made", "path", "fault"),
        [
            (call("GET"), "/repos/o/r/nothing", "no such call"),
            (call("GET", {"recursiv": "1"}), "/repos/o/r/git/trees/abc", "unknown query parameter"),
            (call("GET", {"per_page": "many"}), "/repos/o/r/branches", "not of type"),
            (call("POST", body={"encoding": "base64"}), "/repos/o/r/git/blobs", "required"),
            (call("POST", body={"tree": [{"mode": "644"}]}), "/repos/o/r/git/trees", "not one of"),
            (call("PATCH", body={"sha": 7}), "/repos/o/r/git/refs/heads/main", "not of type"),
            (call("POST"), "/repos/o/r/git/blobs", "needs a body"),
        ],
    )
    def test_invalid_request_has_a_fault(self, github: Description, made: Call, path: str, fault: str) -> None:
        [told] = github.faults(made, path)
        assert fault in told

    def test_invalid_reply_has_faults(self, github: Description) -> None:
        made = call("POST", body={"content": ""})
        assert github.reply_faults(made, "/repos/o/r/git/blobs", 201, {"sha": "0" * 40, "url": "https://x"}) == []
        assert len(github.reply_faults(made, "/repos/o/r/git/blobs", 201, {"sha": 7})) == 2
        assert github.reply_faults(made, "/repos/o/r/git/blobs", 418, {})

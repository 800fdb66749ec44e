"""Tests of the scripts of package.json that a preview runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from app.runtimes.choose import choose_recipe
from app.runtimes.node import BUILD_STYLES
from app.runtimes.recipe import PreviewAddress, Recipe

ADDRESS = PreviewAddress("http://label.preview.localhost:8000/", 8000)


def site(scripts: dict[str, str], dependency: str | None = None, **files: str) -> Recipe:
    manifest = {"scripts": scripts, "dependencies": {dependency or "postcss": "1"}}
    found = {"package.json": json.dumps(manifest).encode()}
    found |= {name.replace("__", "."): text.encode() for name, text in files.items()}
    return choose_recipe(found, found.get, ADDRESS)


class TestServer:
    @pytest.mark.parametrize(
        "scripts",
        [
            {"start": "gulp && npx @11ty/eleventy --serve"},
            {"start": "concurrently 'npm:watch-*' 'eleventy --serve'", "watch-css": "sass --watch a:b"},
            {"start": "run-p watch:*", "watch:css": "postcss a -o b -w", "watch:html": "eleventy --serve"},
            {"dev": "npm run css & npm run html", "css": "sass a:b", "html": "cross-env A=1 eleventy --serve"},
            {"serve": "node_modules/.bin/eleventy --serve & tailwindcss -i a -o b --watch"},
        ],
    )
    def test_script_that_starts_more_than_the_generator_is_the_server(self, scripts: dict[str, str]) -> None:
        assert site(scripts, "@11ty/eleventy").serve == ("npm", "run", next(iter(scripts)))

    @pytest.mark.parametrize(
        "scripts",
        [
            {"start": "eleventy --serve"},
            {"start": "rm -rf _site && NODE_ENV=development npx eleventy --serve"},
            {"start": "npm run clean && npm run html", "clean": "rimraf _site", "html": "eleventy --serve"},
            {"start": "npm start"},
            {"start": "gulp"},
            {},
        ],
    )
    def test_script_that_starts_the_generator_only_is_replaced(self, scripts: dict[str, str]) -> None:
        assert site(scripts, "@11ty/eleventy").serve[0] == "eleventy"

    def test_build_script_with_other_programs_builds_the_site(self) -> None:
        scripts = {"build": "sass a:b && eleventy"}
        recipe = site(scripts, "@11ty/eleventy", eleventy__config__js="return { dir: { output: './dist' } }")
        assert (recipe.build, recipe.output) == (("env", "NODE_ENV=production", "npm", "run", "build"), "dist")
        assert site({"build": "sass a:b && eleventy"}, "@11ty/eleventy").output == "_site"


class TestStyles:
    @pytest.mark.parametrize(
        ("scripts", "chosen"),
        [
            ({"css": "postcss a.css -o static/a.css"}, "css"),
            ({"watch": "sass --watch a:b", "styles": "sass a:b"}, "styles"),
            ({"build": "npm run css && hugo --minify", "css": "npx @tailwindcss/cli -i a -o b"}, "css"),
            ({"build:all": "run-s build:*", "build:css": "gulp styles"}, "build:all"),
        ],
    )
    @pytest.mark.parametrize("config", ["hugo__toml", "_config__yml"])
    def test_script_of_styles_runs_before_the_server(self, scripts: dict[str, str], chosen: str, config: str) -> None:
        recipe = site(scripts, **{config: ""})
        assert recipe.prepare[-1] == ("sh", "-c", BUILD_STYLES, "sh", chosen)
        assert "node" in recipe.tools
        assert recipe.note is None

    @pytest.mark.parametrize(
        "scripts",
        [
            {"css": "postcss a.css -o b.css --watch"},
            {"watch:css": "sass a:b"},
            {"build": "sass a:b && hugo"},
            {"styles": "npm run a", "a": "webpack serve"},
        ],
    )
    def test_script_that_does_not_end_has_a_note(self, scripts: dict[str, str]) -> None:
        recipe = site(scripts, hugo__toml="")
        assert f"“{next(iter(scripts))}”" in (recipe.note or "")
        assert not any(BUILD_STYLES in command for command in recipe.prepare)

    def test_script_of_the_root_of_the_repository_has_a_note(self) -> None:
        manifest = json.dumps({"scripts": {"build:webpack": "webpack --config a.js"}}).encode()
        files = {"package.json": manifest, "site/hugo.toml": b"", "site/content/a.md": b""}
        recipe = choose_recipe(files, files.get, ADDRESS)
        assert (recipe.folder, "“build:webpack”" in (recipe.note or "")) == ("site", True)

    def test_jekyll_installs_the_packages_of_its_styles(self) -> None:
        recipe = site({"css": "sass a:b"}, _config__yml="")
        assert any("npm install" in part for command in recipe.prepare for part in command)

    def test_options_command_replaces_the_styles(self) -> None:
        recipe = site({"css": "sass a:b"}, hugo__toml="", __galley__yml="preview: {command: make serve}")
        assert not any(BUILD_STYLES in command for command in recipe.prepare)

    @pytest.mark.parametrize(("status", "is_reported"), [(0, False), (3, True)])
    def test_failure_of_the_styles_is_only_logged(self, tmp_path: Path, status: int, is_reported: bool) -> None:
        npm = tmp_path / "npm"
        npm.write_text(f'#!/bin/sh\necho "npm $*"\nexit {status}\n')
        npm.chmod(0o755)
        environment = {"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"}
        command = ("sh", "-c", BUILD_STYLES, "sh", "css")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[:2] == ["$ npm run css", "npm run css"]
        assert ("The script css of package.json failed" in done.stdout) is is_reported

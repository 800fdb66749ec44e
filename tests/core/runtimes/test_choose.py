"""How a repository's site is served, told by its files."""

import json

import pytest

from app.core.runtimes.choose import NoRuntime, choose
from app.core.runtimes.recipe import Address, Recipe

ADDRESS = Address("http://label.preview.localhost:8000/", 8000)


def chosen(*paths: str, **contents: str) -> Recipe:
    files = dict.fromkeys(paths, b"") | {name.replace("__", "/"): text.encode() for name, text in contents.items()}
    return choose(files, files.get, ADDRESS)


def package(files: dict[str, bytes] | None = None, **manifest: object) -> Recipe:
    found = {"package.json": json.dumps(manifest).encode(), **(files or {})}
    return choose(found, found.get, ADDRESS)


class TestHugo:
    @pytest.mark.parametrize(
        "paths",
        [
            ["hugo.toml"],
            ["hugo.yaml", "index.html"],
            ["config.toml", "content/a.md"],
            ["config.yaml", "layouts/index.html"],
            ["hugo.toml", "package.json"],
        ],
    )
    def test_its_own_files_tell(self, paths: list[str]) -> None:
        found = chosen(*paths)
        assert found.serve[:2] == ("hugo", "server")
        assert found.tools == ("hugo",)
        assert found.install == ()

    def test_pages_and_the_reloading_script_get_the_preview_s_address(self) -> None:
        serve = chosen("hugo.toml").serve
        assert serve[serve.index("--baseURL") + 1] == ADDRESS.url
        assert serve[serve.index("--liveReloadPort") + 1] == "8000"
        assert "--appendPort=false" in serve

    def test_a_site_in_a_folder_is_served_there(self) -> None:
        assert chosen("README.md", "docs/hugo.toml", "docs/content/a.md").folder == "docs"

    def test_the_root_comes_before_folders(self) -> None:
        assert chosen("hugo.toml", "example/package.json").folder == ""

    def test_what_lies_deep_or_was_installed_is_not_looked_at(self) -> None:
        with pytest.raises(NoRuntime):
            chosen("a/b/c/hugo.toml", "node_modules/x/package.json")


class TestNode:
    @pytest.mark.parametrize(
        ("dependency", "program"),
        [
            ("astro", "astro"),
            ("next", "next"),
            ("nuxt", "nuxt"),
            ("gatsby", "gatsby"),
            ("@11ty/eleventy", "eleventy"),
            ("vite", "vite"),
        ],
    )
    def test_what_it_depends_on_tells_the_server(self, dependency: str, program: str) -> None:
        found = package(dependencies={dependency: "1"}, scripts={"dev": "something else"})
        assert found.serve[0] == program
        assert any("{port}" in part for part in found.serve)

    def test_a_generator_comes_before_the_bundler_below_it(self) -> None:
        assert package(dependencies={"astro": "1"}, devDependencies={"vite": "1"}).serve[0] == "astro"

    @pytest.mark.parametrize(
        ("scripts", "expected"),
        [({"dev": "x", "start": "y"}, "dev"), ({"start": "y", "serve": "z"}, "start"), ({"develop": "d"}, "develop")],
    )
    def test_else_its_own_script_is_run(self, scripts: dict[str, str], expected: str) -> None:
        assert package(scripts=scripts).serve == ("npm", "run", expected)

    @pytest.mark.parametrize(
        ("lock", "manager"),
        [
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("package-lock.json", "npm ci"),
            ("nothing", "npm install"),
        ],
    )
    def test_the_lock_file_tells_the_package_manager(self, lock: str, manager: str) -> None:
        found = package({lock: b"lock"}, dependencies={"astro": "1"})
        assert manager in " ".join(found.install[0])

    def test_without_dependencies_nothing_is_installed(self) -> None:
        assert package(scripts={"dev": "x"}).install == ()

    def test_the_same_lock_makes_the_same_dependencies_and_another_one_others(self) -> None:
        one = package({"package-lock.json": b"1"}, dependencies={"astro": "1"})
        same = package({"package-lock.json": b"1"}, dependencies={"astro": "1"})
        other = package({"package-lock.json": b"2"}, dependencies={"astro": "1"})
        assert one.dependencies == same.dependencies
        assert one.dependencies != other.dependencies
        assert package(dependencies={"astro": "1"}).dependencies is None

    @pytest.mark.parametrize("text", ["{", "[]", '"x"', "null", "[" * 100_000, '{"scripts": 3, "dependencies": []}'])
    def test_a_manifest_that_is_none_tells_nothing(self, text: str) -> None:
        found = {"package.json": text.encode(), "index.html": b""}
        assert choose(found, found.get, ADDRESS).serve[:3] == ("python3", "-m", "http.server")


class TestOthers:
    def test_jekyll_with_its_own_gems(self) -> None:
        found = chosen("_config.yml", "Gemfile", "index.html")
        assert found.serve[:3] == ("bundle", "exec", "jekyll")
        assert found.install == (("bundle", "install"),)

    def test_mkdocs_with_what_it_requires(self) -> None:
        assert chosen("mkdocs.yml", "requirements.txt").install[0][-2:] == ("-r", "requirements.txt")
        assert chosen("mkdocs.yml").install[0][-1] == "mkdocs"

    @pytest.mark.parametrize("folder", ["", "public", "docs", "dist"])
    def test_plain_pages_are_served_as_they_are(self, folder: str) -> None:
        path = f"{folder}/index.html" if folder else "index.html"
        assert chosen(path).folder == folder

    def test_a_repository_without_a_site_has_none(self) -> None:
        with pytest.raises(NoRuntime):
            chosen("README.md", "src/main.c")

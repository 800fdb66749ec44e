"""Tests of the builds of recipes."""

import json
from pathlib import Path

import pytest

from app.runtimes.choose import RuntimeNotDetected, choose_recipe
from app.runtimes.options import KEYS
from app.runtimes.recipe import PreviewAddress, Recipe

ADDRESS = PreviewAddress("https://www.example.org/docs/", 443)
MANIFEST = b'{"dependencies": {"%s": "1"}, "scripts": {"dev": "x", "build": "y"}}'


def chosen(files: dict[str, bytes], address: PreviewAddress = ADDRESS) -> Recipe:
    return choose_recipe(files, files.get, address)


@pytest.mark.parametrize(
    ("files", "build", "output"),
    [
        ({"hugo.toml": b""}, "hugo --destination public --baseURL https://www.example.org/docs/", "public"),
        (
            {"_config.yml": b""},
            "env JEKYLL_ENV=production jekyll build --baseurl /docs --destination _site",
            "_site",
        ),
        (
            {"package.json": MANIFEST % b"astro"},
            "env NODE_ENV=production astro build --outDir dist --site https://www.example.org/docs/ --base /docs/",
            "dist",
        ),
        (
            {"package.json": MANIFEST % b"@11ty/eleventy"},
            "env NODE_ENV=production eleventy --output=_site --pathprefix=/docs/",
            "_site",
        ),
        (
            {"package.json": MANIFEST % b"vitepress", "guide/.vitepress/config.ts": b""},
            "env NODE_ENV=production vitepress build guide --base /docs/ --outDir guide/.vitepress/dist",
            "guide/.vitepress/dist",
        ),
        (
            {"package.json": MANIFEST % b"@docusaurus/core"},
            "env NODE_ENV=production docusaurus build --out-dir build",
            "build",
        ),
        ({"package.json": MANIFEST % b"hexo"}, "env NODE_ENV=production hexo generate", "public"),
        (
            {"package.json": MANIFEST % b"hexo", "_config.yml": b"title: a\npublic_dir: docs/\n"},
            "env NODE_ENV=production hexo generate",
            "docs",
        ),
        ({"package.json": MANIFEST % b"gatsby"}, "env NODE_ENV=production gatsby build", "public"),
        ({"package.json": MANIFEST % b"nuxt"}, "env NODE_ENV=production nuxt generate", ".output/public"),
        (
            {"package.json": MANIFEST % b"next", "next.config.mjs": b"export default { output: 'export' }"},
            "env NODE_ENV=production next build",
            "out",
        ),
        ({"zensical.toml": b""}, "python3 -m zensical build", "site"),
        (
            {"mkdocs.yml": b"site_dir: public", "requirements.txt": b"zensical==0.1"},
            "python3 -m zensical build",
            "public",
        ),
        (
            {"pelicanconf.py": b"", "publishconf.py": b"", "content/a.md": b""},
            "python3 -m pelican content --settings publishconf.py --output output",
            "output",
        ),
        ({"mkdocs.yml": b""}, "python3 -m mkdocs build --no-strict --site-dir site", "site"),
        (
            {"package.json": MANIFEST % b"hexo", "_config.yml": b"public_dir: ./docs/./a\n"},
            "env NODE_ENV=production hexo generate",
            "docs/a",
        ),
        (
            {"docs/conf.py": b"extensions = []"},
            "python3 -m sphinx -b html -d /tmp/doctrees docs _build/html",
            "_build/html",
        ),
    ],
)
def test_build_of_a_generator_names_its_command_and_folder(files: dict[str, bytes], build: str, output: str) -> None:
    recipe = chosen(files)
    assert recipe.build is not None
    assert (" ".join(recipe.build), recipe.output) == (build, output)


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": MANIFEST % b"hexo", "_config.yml": b"public_dir: ../../../..\n"},
        {"package.json": MANIFEST % b"hexo", "_config.yml": b"public_dir: a/../..\n"},
        {"zensical.toml": b'[project]\nsite_dir = "../.."'},
        {"zensical.toml": b'[project]\nsite_dir = "a\\u0000"'},
        {
            "package.json": b'{"dependencies": {"@11ty/eleventy": "1"}, "scripts": {"build": "eleventy && a"}}',
            ".eleventy.js": b"module.exports = { dir: { output: '../../../..' } }",
        },
    ],
)
def test_output_folder_above_the_site_is_none(files: dict[str, bytes]) -> None:
    recipe = chosen(files)
    assert (recipe.build, recipe.output) == (None, None)


def test_build_at_the_root_of_a_host_has_an_empty_path() -> None:
    recipe = chosen({"_config.yml": b""}, PreviewAddress("https://www.example.org/", 443))
    assert recipe.build is not None
    assert recipe.build[recipe.build.index("--baseurl") + 1] == ""


def test_build_of_jekyll_uses_the_gems_of_its_server() -> None:
    recipe = chosen({"_config.yml": b"", "Gemfile": b""})
    assert recipe.build is not None
    assert recipe.build[:4] == recipe.serve[:4]


def test_build_of_hugo_uses_the_pinned_release() -> None:
    recipe = chosen({"hugo.toml": b"", ".hugo-version": b"0.150.0"})
    assert recipe.build is not None
    assert recipe.build[:4] == recipe.serve[:4]


def test_plain_files_have_an_output_without_a_build() -> None:
    recipe = chosen({"public/index.html": b""})
    assert (recipe.folder, recipe.build, recipe.output) == ("public", None, "")


@pytest.mark.parametrize(
    "manifest",
    [
        {"scripts": {"dev": "node server.js", "build": "tsc"}},
        {"scripts": {"dev": "x"}, "dependencies": {"next": "15"}},
    ],
)
def test_site_with_its_own_server_has_no_static_pages(manifest: dict[str, object]) -> None:
    recipe = chosen({"package.json": json.dumps(manifest).encode()})
    assert (recipe.build, recipe.output) == (None, None)


@pytest.mark.parametrize(
    ("section", "build", "output"),
    [
        (b"{output: web/}", ("npm", "run", "build"), "web"),
        (b"{build: make -C a, output: web}", ("make", "-C", "a"), "web"),
        (b"{build: [make, 'URL={url}'], output: .}", ("make", "URL=https://www.example.org/docs/"), ""),
        (b"{command: make serve, output: web}", ("npm", "run", "build"), "web"),
    ],
)
def test_options_replace_build_and_output(section: bytes, build: tuple[str, ...], output: str) -> None:
    manifest = json.dumps({"scripts": {"dev": "x", "build": "y"}}).encode()
    recipe = chosen({".galley.yml": b"preview: " + section, "package.json": manifest})
    assert (recipe.build, recipe.output) == (build, output)


def test_options_build_without_a_folder_is_refused() -> None:
    files = {".galley.yml": b"preview: {build: make}", "package.json": b'{"scripts": {"dev": "x"}}'}
    with pytest.raises(RuntimeNotDetected, match=r"preview\.output"):
        chosen(files)


def test_options_build_needs_the_programs_that_it_starts() -> None:
    files = {".galley.yml": b"preview: {build: npm run all, output: out}", "index.html": b""}
    assert chosen(files).tools == ("node",)


def test_schema_of_the_file_knows_all_keys() -> None:
    properties = json.loads(Path("docs/galley.schema.json").read_bytes())["properties"]["preview"]["properties"]
    assert set(properties) == set(KEYS)
